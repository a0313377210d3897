/**
 * A terminal of xterm.js in the dashboard's colours. `scripts/build/xterm-policy.mjs` makes the library fit the dashboard's
 * policy.
 */
import { FitAddon } from '@xterm/addon-fit';
import { type ITheme, Terminal } from '@xterm/xterm';
import xtermCss from '@xterm/xterm/css/xterm.css' with { type: 'text' };
import { adoptStyle } from '../../ui/adopted-style.ts';

const scrollbackLines = 10_000;

export function makeTerminal(): { readonly terminal: Terminal; readonly fit: FitAddon } {
  adoptStyle(xtermCss);
  const terminal = new Terminal({
    scrollback: scrollbackLines,
    fontFamily: cssValue('--mono'),
    fontSize: 13,
    theme: terminalTheme(),
    cursorBlink: true,
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  return { terminal, fit };
}

const cssValue = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function terminalTheme(): ITheme {
  const dark = document.documentElement.dataset.theme === 'dark';
  return {
    background: cssValue('--surface'),
    foreground: cssValue('--text'),
    cursor: cssValue('--accent'),
    cursorAccent: cssValue('--surface'),
    selectionBackground: dark ? '#3b5a80' : '#b8d6f7',
    ...(dark ? {} : lightColours),
  };
}

/** The library's own colours are made for a dark background. */
const lightColours: ITheme = {
  black: '#1b2330',
  red: '#b3261e',
  green: '#0f7a3d',
  yellow: '#8a5a00',
  blue: '#0b62bd',
  magenta: '#8b3fc7',
  cyan: '#00707a',
  white: '#5a6678',
  brightBlack: '#5a6678',
  brightRed: '#c9372c',
  brightGreen: '#178a49',
  brightYellow: '#9a6700',
  brightBlue: '#1f75d6',
  brightMagenta: '#9b52d6',
  brightCyan: '#0a8490',
  brightWhite: '#1b2330',
};
