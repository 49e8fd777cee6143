// Drives Chromium over the drawings of `overdue flame`; started by flame_test.py with "drawings": {name: path} and
// "screenshots".
import assert from 'node:assert/strict';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {browser, given, open as open_page, reported} from './browser.mjs';

const open = (address, colorScheme) => open_page(address, '.bar', colorScheme);

// The first visible frame whose name begins with `name`.
const frame = async (page, name) => (await page.waitForFunction(begin => [...document.querySelectorAll('.frames > g')]
  .find(g => g.style.display !== 'none' && g.frame.name.startsWith(begin)), name)).asElement();
const click = async (page, name) => (await frame(page, name)).click();
const hover = async (page, name) => (await frame(page, name)).hover();
const label = (page, name) => frame(page, name).then(g => g.$eval('text', text => text.textContent));
const shown = page => page.$$eval('.frames > g', all => all.filter(g => g.style.display !== 'none').length);
const found = page => page.locator('.found').textContent();
const tip = page => page.locator('.tip').innerText();
const is_visible = (page, selector) => page.locator(selector).isVisible();
const wide = (page, name) => frame(page, name).then(g => g.$eval('rect', rect => +rect.getAttribute('width')));
// The page searches while the expression is typed, also for its beginning.
const search = async (page, text) => {
  await page.keyboard.press('/');
  await page.keyboard.type(text);
  await page.waitForFunction(wanted => new URLSearchParams(location.hash.slice(1)).get('search') === wanted, text);
};

const cases = {
  async zoom_and_reset(page) {
    const all = await shown(page), before = await wide(page, 'handler-3');
    await click(page, 'handler-3');
    assert.ok(await wide(page, 'handler-3') > 5 * before);
    assert.ok(await shown(page) < all);
    assert.equal(await wide(page, 'all'), await wide(page, 'handler-3'), 'what it stands on is as wide');
    assert.match(page.url(), /#zoom=\d+$/);
    await page.getByRole('button', {name: 'Reset zoom'}).click();
    assert.equal(await shown(page), all);
    assert.equal(await wide(page, 'handler-3'), before);
    assert.ok(await page.getByRole('button', {name: 'Reset zoom'}).isDisabled());
  },
  async zoom_shows_longer_names(page) {
    assert.match(await label(page, 'exec::Executor'), /^exec::.*…$/);
    await click(page, 'exec::Executor');
    assert.equal(await label(page, 'exec::Executor'), 'exec::Executor::run(plan::Node const&)');
  },
  async escape_leaves_the_zoom(page) {
    const all = await shown(page);
    await click(page, 'wal-writer');
    assert.notEqual(await shown(page), all);
    await page.keyboard.press('Escape');
    assert.equal(await shown(page), all);
  },
  async back_button_and_address(page, open) {
    await click(page, 'handler-0');
    await click(page, 'server::Loop::run()');
    const address = page.url(), zoomed = await shown(page);
    await page.goBack();
    assert.notEqual(page.url(), address);
    assert.equal(await wide(page, 'handler-0'), await wide(page, 'all'));
    const other = await open(address + '&search=futex');
    assert.equal(await shown(other), zoomed);
    assert.match(await found(other), /matched in \d+ frames$/);
    await other.close();
  },
  async search_by_regexp(page) {
    await search(page, '^futex$|^pthread_mutex');
    await page.waitForFunction(() => document.querySelector('.found').textContent.includes('matched'));
    // A match on top of another match does not count again: half of these lie on the other half.
    const [reported, right, hits] = await page.evaluate(() => {
      const frames = [...document.querySelectorAll('.frames > g')].map(g => g.frame);
      const weight = frames.filter(f => f.name === 'pthread_mutex_lock').reduce((sum, f) => sum + f.weight, 0);
      return [document.querySelector('.found').textContent, 100 * weight / frames[0].weight,
        document.querySelectorAll('.frames .hit').length];
    });
    assert.equal(reported, `${right.toFixed(1)}% matched in ${hits} frames`);
    await page.keyboard.press('Escape');
    assert.equal(await found(page), '');
    assert.equal(await page.locator('.frames .hit').count(), 0);
    assert.doesNotMatch(page.url(), /search/);
  },
  async search_tells_a_bad_expression(page) {
    await search(page, '(');
    await page.waitForFunction(() => document.querySelector('.found').textContent !== '');
    assert.equal(await found(page), 'not a regular expression');
    await page.keyboard.type('futex)');
    await page.waitForFunction(() => document.querySelector('.found').textContent.includes('matched'));
  },
  async thread_alone(page) {
    const all = await shown(page);
    await search(page, '^pthread_mutex');
    await page.waitForFunction(() => document.querySelector('.found').textContent.includes('matched'));
    const of_all = await found(page);
    await page.keyboard.press('Escape');
    await page.locator('.threads').selectOption({label: 'handler-2'});
    assert.ok(await shown(page) < all);
    assert.equal(await wide(page, 'handler-2'), await wide(page, 'all'));
    assert.ok(!await page.evaluate(() => [...document.querySelectorAll('.frames > g')]
      .some(g => g.style.display !== 'none' && g.frame.name === 'log')), 'another thread');
    assert.match(page.url(), /#thread=\d+$/);
    assert.ok(await page.getByRole('button', {name: 'Reset zoom'}).isDisabled());
    // Shares are those of the thread.
    await search(page, '^pthread_mutex');
    await page.waitForFunction(() => document.querySelector('.found').textContent.includes('matched'));
    const expected = await page.evaluate(() => {
      const frames = [...document.querySelectorAll('.frames > g')].map(g => g.frame);
      const thread = frames.find(f => f.name === 'handler-2');
      const inside = frames.filter(f => f.name === 'pthread_mutex_lock' && f.start >= thread.start &&
        f.start < thread.start + thread.weight);
      return 100 * inside.reduce((sum, f) => sum + f.weight, 0) / thread.weight;
    });
    assert.ok((await found(page)).startsWith(`${expected.toFixed(expected < 1 ? 2 : 1)}% matched`), await found(page));
    assert.notEqual(await found(page), of_all);
    // The zoom stays within the thread, also to the frame below it.
    await page.keyboard.press('Escape');
    await click(page, 'server::Loop::run()');
    await click(page, 'all');
    assert.equal(await wide(page, 'handler-2'), await wide(page, 'all'));
    assert.ok(await page.getByRole('button', {name: 'Reset zoom'}).isDisabled());
    await page.reload();
    assert.equal(await page.locator('.threads').evaluate(each => each.selectedOptions[0].text), 'handler-2');
    await page.locator('.threads').selectOption({label: 'All threads'});
    assert.equal(await shown(page), all);
    assert.doesNotMatch(page.url(), /thread/);
  },
  async arrows_and_enter(page) {
    const chosen = () => page.evaluate(() => document.querySelector('.frames .at')?.frame.name);
    assert.equal(await chosen(), undefined);
    await page.keyboard.press('ArrowUp');
    assert.equal(await chosen(), 'all');
    await page.keyboard.press('ArrowUp');
    const thread = await chosen();
    const heaviest = await page.evaluate(() => [...document.querySelectorAll('.frames > g')].map(g => g.frame)
      .filter(f => f.depth === 1).reduce((best, f) => f.weight > best.weight ? f : best).name);
    assert.equal(thread, heaviest);
    assert.ok((await tip(page)).startsWith(thread), await tip(page));
    await page.keyboard.press('ArrowLeft');
    assert.notEqual(await chosen(), thread);
    await page.keyboard.press('ArrowRight');
    assert.equal(await chosen(), thread);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowDown');
    assert.equal(await chosen(), thread);
    await page.keyboard.press('Enter');
    assert.equal(await wide(page, thread), await wide(page, 'all'));
    await page.keyboard.press('Escape');
    assert.notEqual(await wide(page, thread), await wide(page, 'all'));
    await page.keyboard.press('Escape');
    assert.equal(await chosen(), undefined);
  },
  async enter_goes_from_match_to_match(page) {
    await search(page, '^wal::');
    const names = [];
    for (let i = 0; i < 3; ++i) {
      await page.keyboard.press('Enter');
      names.push(await page.evaluate(() => document.querySelector('.frames .at').frame.name));
    }
    assert.deepEqual(names, ['wal::Writer::loop()', 'wal::Segment::flush()', 'wal::Writer::loop()']);
    await page.keyboard.press('Shift+Enter');
    assert.equal(await page.evaluate(() => document.querySelector('.frames .at').frame.name), 'wal::Segment::flush()');
    assert.ok(await page.evaluate(() => document.activeElement.matches('.bar input')), 'typing goes on');
    await page.keyboard.press('Escape');
    await search(page, '^wal::');
    await page.keyboard.press('Shift+Enter');
    assert.equal(await page.evaluate(() => document.querySelector('.frames .at').frame.name), 'wal::Segment::flush()',
      'the last one is before the first');
  },
  async copies_a_stack(page) {
    const stack = 'wal::Segment::flush()\nwal::Writer::loop()\nstart_thread\nclone3\nwal-writer';
    const button = page.getByRole('button', {name: 'Copy stack'});
    assert.ok(await button.isDisabled(), 'nothing is chosen');
    await click(page, 'wal::Segment::flush()');
    await button.click();
    await page.waitForFunction(() => document.querySelector('.found').textContent === '5 lines copied');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), stack);
    await page.keyboard.press('Escape');
    await hover(page, 'wal-writer');
    await page.keyboard.press('c');
    await page.waitForFunction(() => document.querySelector('.found').textContent === '1 line copied');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'wal-writer');
  },
  async control_f_searches(page) {
    await page.keyboard.press('Control+f');
    assert.ok(await page.evaluate(() => document.activeElement.matches('.bar input')));
  },
  async tooltip(page) {
    assert.ok(!await is_visible(page, '.tip'));
    await hover(page, 'handler-6');
    assert.match(await tip(page), /^handler-6\nthread · [\d.]+ms · \d+\.\d% of all · \d+ stacks$/);
    await click(page, 'handler-6');
    await hover(page, 'server::Loop::run()');
    assert.match(await tip(page), /^server::Loop::run\(\)\nuser · .*\n\d+\.\d% of the view/);
    const corner = await (await frame(page, 'all')).boundingBox();
    await page.mouse.move(corner.x + corner.width - 2, corner.y + 3);
    const box = await page.locator('.tip').boundingBox(), view = page.viewportSize();
    assert.ok(box.x >= 0 && box.x + box.width <= view.width && box.y + box.height <= view.height, 'on the page');
    await page.mouse.move(300, 20);
    assert.ok(!await is_visible(page, '.tip'));
  },
  async hostile_names_are_text(page) {
    await click(page, 'hostile');
    for (const name of ['<script>alert(1)</script>', '\\xe2\\x80\\xaegnp.exe',
      'a\\xc2\\xadb\\xef\\xbb\\xbf\\xef\\xbf\\xbf'])
      assert.ok(await page.evaluate(wanted =>
        [...document.querySelectorAll('.frames > g')].some(g => g.frame.name === wanted), name), name);
    assert.equal(await page.locator('script').count(), 1);
  },
  async follows_the_window(page) {
    const before = await wide(page, 'all');
    await page.setViewportSize({width: 900, height: 600});
    await page.waitForFunction(width => document.querySelector('.frames rect').getBoundingClientRect().width < width,
      before);
    const box = await (await frame(page, 'all')).boundingBox();
    assert.ok(box.x + box.width <= 900);
  },
  async bar_stays_in_sight(page) {
    await page.setViewportSize({width: 900, height: 400});
    await page.evaluate(() => scrollTo(0, 300));
    await page.waitForFunction(() => document.querySelector('.bar-home').classList.contains('stuck'));
    const box = await page.locator('.bar input').boundingBox();
    assert.ok(box.y >= 0 && box.y < 40);
  },
  async tall_ones_begin_at_the_root(page) {
    await page.setViewportSize({width: 900, height: 400});
    const address = page.url();
    await page.goto('about:blank');
    await page.goto(address);
    await page.waitForFunction(() => {
      const box = document.querySelector('.frames rect').getBoundingClientRect();
      return box.top > 0 && box.bottom <= innerHeight;
    });
  },
  async dark_and_light(page) {
    const colors = () => page.evaluate(() => ['.ground', '.frames g rect', '.frames g text', '.u0 rect']
      .map(selector => getComputedStyle(document.querySelector(selector)).fill));
    const light = await colors();
    await page.emulateMedia({colorScheme: 'dark'});
    const dark = await colors();
    light.forEach((color, i) => assert.notEqual(color, dark[i]));
    assert.equal(light[0], 'rgb(251, 251, 250)');
    assert.equal(dark[0], 'rgb(23, 24, 27)');
  },
};

for (const kind of ['svg', 'html']) {
  const address = pathToFileURL(given.drawings[kind]).href;
  for (const [name, run] of Object.entries(cases)) {
    await reported(`${kind}_${name}`, async () => {
      const page = await open(address);
      try {
        await run(page, open);
      } finally {
        await page.close();
      }
    });
  }
}
for (const [name, drawing] of Object.entries(given.drawings)) {
  for (const scheme of ['light', 'dark']) {
    await reported(`screenshot_${name}_${scheme}`, async () => {
      const page = await open(pathToFileURL(drawing).href, scheme);
      await page.screenshot({path: path.join(given.screenshots, `${name}-${scheme}.png`)});
      if (name === 'svg') {
        await search(page, 'btree|futex');
        await page.waitForFunction(() => document.querySelector('.found').textContent !== '');
        await page.screenshot({path: path.join(given.screenshots, `search-${scheme}.png`)});
        await page.keyboard.press('Escape');
        await click(page, 'handler-6');
        await hover(page, 'buffer::Pool::pin');
        await page.screenshot({path: path.join(given.screenshots, `zoom-${scheme}.png`)});
      }
      await page.close();
    });
  }
}
await browser.close();
