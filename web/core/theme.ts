/** Light or dark: what the system says, unless the user has chosen. */
import { signal } from '@preact/signals';

type Theme = 'light' | 'dark';

const place = 'wherry.theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const chosen = (): Theme | undefined => {
  const text = localStorage.getItem(place);
  return text === 'light' || text === 'dark' ? text : undefined;
};
const current = (): Theme => chosen() ?? (system.matches ? 'dark' : 'light');

export const theme = signal<Theme>(current());

export function startTheme(): void {
  system.addEventListener('change', () => {
    theme.value = current();
  });
  theme.subscribe((name) => {
    document.documentElement.dataset.theme = name;
  });
}

export function switchTheme(): void {
  localStorage.setItem(place, theme.value === 'dark' ? 'light' : 'dark');
  theme.value = current();
}

/** The nonce with which libraries may add style sheets; see the policy of the dashboard. */
export const styleNonce = (): string =>
  document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '';
