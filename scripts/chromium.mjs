/**
 * Starts the system's Chromium for tests, benchmarks and screenshots of the page; `npm test` installs it (tools.mjs).
 * Benchmarks measure the browser that people use; tests take its headless shell, which is the same engine without the user
 * interface: a page takes half the processor time.
 */
import { chromium } from 'playwright-core';
import { onPath } from './debian.mjs';

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const whole = 'chromium';
const shell = 'chromium-headless-shell';

export const launchShell = () => launch([shell, whole]);

export const launchChromium = () => launch([whole, shell]);

function launch(programs) {
  const executablePath = programs.map((name) => onPath(name)).find(Boolean);
  if (!executablePath) throw new Error('there is no chromium on the PATH');
  return chromium.launch({ executablePath, args: flags });
}
