/**
 * Starts the system's Chromium for tests, benchmarks and screenshots of the page; `npm test` installs it (tools.mjs).
 * Its headless shell is the same engine without a user interface that nobody sees: a page takes half the processor time.
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

export function launchChromium(more = []) {
  const executablePath = onPath('chromium-headless-shell') ?? onPath('chromium');
  if (!executablePath) throw new Error('there is no chromium on the PATH');
  return chromium.launch({ executablePath, args: [...flags, ...more] });
}
