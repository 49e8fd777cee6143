// Sorts a table by the column whose heading is pressed: the largest number or the first text on top,
// then the other way round. A row is a tbody, as what stands below the row moves with the row.
'use strict';
for (const button of document.querySelectorAll('th button')) {
  button.addEventListener('click', () => {
    const heading = button.parentElement, table = heading.closest('table');
    const column = heading.cellIndex, isNumber = heading.classList.contains('number');
    const first = isNumber ? 'descending' : 'ascending', other = isNumber ? 'ascending' : 'descending';
    const order = heading.getAttribute('aria-sort') === first ? other : first;
    for (const one of table.tHead.rows[0].cells) one.removeAttribute('aria-sort');
    heading.setAttribute('aria-sort', order);
    const value = row => {
      const cell = row.rows[0].cells[column];
      return isNumber ? Number(cell.dataset.value ?? -1) : cell.textContent;
    };
    const compare = (a, b) => isNumber ? value(a) - value(b) : value(a).localeCompare(value(b));
    const sign = order === 'ascending' ? 1 : -1;
    for (const row of [...table.tBodies].sort((a, b) => sign * compare(a, b))) table.append(row);
  });
}
