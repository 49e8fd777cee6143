// Drives Chromium over pages of `-f html`; started by page_test.py with "pages": {name: path} and "screenshots".
import assert from 'node:assert/strict';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {browser, given, open as open_page, reported, troubles} from './browser.mjs';

const open = (name, colorScheme) => open_page(pathToFileURL(given.pages[name]).href, 'footer', colorScheme);

// The sorted values of the column with this heading, from the top.
const column = (page, heading) => page.evaluate(wanted => {
  const table = [...document.querySelectorAll('table')].find(one => one.textContent.includes(wanted));
  const index = [...table.tHead.rows[0].cells].findIndex(cell => cell.textContent === wanted);
  return [...table.tBodies].map(body => body.rows[0].cells[index])
    .map(cell => cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value));
}, heading);
const button = (page, heading) => page.locator('th button', {hasText: new RegExp(`^${heading}$`)}).first();
const press = (page, heading) => button(page, heading).click();

const cases = {
  async verdict_comes_first() {
    const page = await open('why');
    const text = await page.locator('main').innerText();
    const places = ['futex in wait_for_the_lock', 'Where the time went', 'Causes', 'Look closer', 'Receipt']
      .map(words => text.indexOf(words));
    assert.ok(places.every(place => place > 0), String(places));
    assert.deepEqual(places, [...places].sort((a, b) => a - b));
    await page.close();
  },
  async bars_have_their_colors() {
    const page = await open('why');
    const bar = page.locator('svg.bar').first();
    assert.ok((await bar.boundingBox()).width > 100);
    const color = await bar.locator('rect').first().evaluate(rect => getComputedStyle(rect).fill);
    assert.notEqual(color, 'rgb(0, 0, 0)', 'the policy refused the styles');
    await page.close();
  },
  async a_click_on_a_heading_sorts() {
    const page = await open('syscalls');
    await press(page, 'calls');
    const falling = await column(page, 'calls');
    assert.ok(falling.length > 3);
    assert.deepEqual(falling, [...falling].sort((a, b) => b - a));
    assert.equal(await page.locator('th[aria-sort=descending]').count(), 1);
    await press(page, 'calls');
    assert.deepEqual(await column(page, 'calls'), [...falling].sort((a, b) => a - b));
    await press(page, 'name');
    const names = await column(page, 'name');
    assert.deepEqual(names, [...names].sort((a, b) => a.localeCompare(b)));
    await page.close();
  },
  async keys_sort_too() {
    const page = await open('syscalls');
    await button(page, 'max').focus();
    await page.keyboard.press('Enter');
    const falling = await column(page, 'max');
    assert.deepEqual(falling, [...falling].sort((a, b) => b - a));
    await page.close();
  },
  async an_example_stays_with_its_cause() {
    const page = await open('why');
    const example = () => page.evaluate(() => [...document.querySelectorAll('tbody')]
      .filter(body => body.querySelector('pre')).map(body => body.rows[0].cells[0].textContent + body.querySelector('pre').textContent));
    const before = (await example()).sort();
    assert.ok(before.length > 0);
    await press(page, 'cause');
    await press(page, 'cause');
    assert.deepEqual((await example()).sort(), before);
    await page.close();
  },
  async fits_a_telephone() {
    for (const name of Object.keys(given.pages)) {
      const page = await open(name);
      await page.setViewportSize({width: 375, height: 700});
      const [needed, there] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(needed <= there, `${name} is ${needed} wide`);
      await page.close();
    }
  },
  async dark_and_light() {
    const page = await open('why');
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    assert.equal(await ground(), 'rgb(251, 251, 250)');
    await page.emulateMedia({colorScheme: 'dark'});
    assert.equal(await ground(), 'rgb(23, 24, 27)');
    await page.close();
  },
  async names_are_harmless() {
    if (!given.pages.hostile) return;
    const page = await open('hostile');
    assert.equal(await page.locator('img, i, b').count(), 0);
    assert.equal(await page.locator('script').count(), 1);
    assert.ok((await page.locator('main').innerText()).includes('<i><script>x'));
    assert.ok((await page.locator('h1').innerText()).includes('<img src=x onerror=alert(1)>'));
    await page.close();
  },
  async the_policy_refuses_what_is_not_ours() {
    const page = await open_page(pathToFileURL(given.pages.why).href, 'footer');
    const ran = await page.evaluate(() => {
      const script = document.createElement('script');
      script.textContent = 'document.title = "taken over"';
      document.body.append(script);
      return document.title;
    });
    assert.notEqual(ran, 'taken over');
    assert.match(troubles.splice(0).join(), /Content Security Policy/);
    await page.close();
  },
};

for (const [name, run] of Object.entries(cases)) await reported(name, run);
for (const name of Object.keys(given.pages)) {
  for (const scheme of ['light', 'dark']) {
    await reported(`screenshot_${name}_${scheme}`, async () => {
      const page = await open(name, scheme);
      await page.screenshot({path: path.join(given.screenshots, `page-${name}-${scheme}.png`), fullPage: true});
      await page.close();
    });
  }
}
await browser.close();
