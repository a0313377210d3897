/** Quantities of Kubernetes as numbers: `250m` is 0.25, `1Gi` is 2^30. */

const factors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** A quantity as a number; NaN for other text. */
export function quantity(text: unknown): number {
  const [, number, unit = ''] = /^([+-]?[\d.]+(?:e[+-]?\d+)?)([a-zA-Z]*)$/.exec(String(text ?? '')) ?? [];
  const factor = factors[unit];
  return number === undefined || factor === undefined ? Number.NaN : Number(number) * factor;
}

export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let at = 0;
  let value = bytes;
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at++;
  }
  return `${value >= 100 || at === 0 ? Math.round(value) : value.toFixed(1)} ${units[at]}`;
}

export const coresText = (cores: number): string =>
  cores < 1
    ? `${Number((cores * 1000).toFixed(cores < 0.01 ? 1 : 0))}m`
    : cores < 10
      ? cores.toFixed(1)
      : String(Math.round(cores));
