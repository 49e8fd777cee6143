// Starts Chromium for the cases of the *.mjs beside this file. Their argument is a JSON object with "modules", "chromium"
// and "profile", which browser.py gives, and what the cases need.
import {createRequire} from 'node:module';
import assert from 'node:assert/strict';
import path from 'node:path';

export const given = JSON.parse(process.argv[2]);
const {chromium} = createRequire(path.join(given.modules, 'x.js'))('playwright-core');

export const browser = await chromium.launchPersistentContext(given.profile, {
  executablePath: given.chromium, headless: true, viewport: {width: 1280, height: 860}, colorScheme: 'light',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
await browser.grantPermissions(['clipboard-read', 'clipboard-write']);
// What went wrong since the case began; a case that expects trouble takes it away.
export const troubles = [];
browser.on('page', page => {
  page.on('pageerror', error => troubles.push(error.message));
  page.on('console', message => troubles.push(message.text()));
  page.on('dialog', dialog => { troubles.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', request => {
    if (!request.url().startsWith('file:') && !request.url().startsWith('about:')) troubles.push(request.url());
  });
});
// A page of which a case may say that it is there: `selector` is visible.
export const open = async (address, selector, colorScheme = 'light') => {
  const page = await browser.newPage();
  page.setDefaultTimeout(20000);
  await page.emulateMedia({colorScheme});
  await page.goto(address);
  await page.locator(selector).first().waitFor();
  return page;
};
// Runs a case, and prints a line of JSON: its name and its error. What the console says is an error, and so is a request.
export const reported = async (name, run) => {
  troubles.length = 0;
  let error = '';
  try {
    await run();
    assert.deepEqual(troubles, []);
  } catch (thrown) {
    error = String(thrown.stack || thrown);
  }
  console.log(JSON.stringify({name, error}));
};

