/** The order of API versions: GA before beta before alpha, higher numbers first, other names last by alphabet. */

const numbered = /^v([1-9]\d{0,8})(?:(alpha|beta)([1-9]\d{0,8}))?$/;
const ranks: Readonly<Record<string, number>> = { alpha: 0, beta: 1 };

/** For `sort`: the preferred version first. */
export function compareVersions(a: string, b: string): number {
  const [one, other] = [numbered.exec(a), numbered.exec(b)];
  if (!one || !other) {
    if (one || other) return one ? -1 : 1;
    return a < b ? -1 : a > b ? 1 : 0;
  }
  const rank = (found: RegExpExecArray): number => (found[2] === undefined ? 2 : ranks[found[2]]!);
  return (
    rank(other) - rank(one) ||
    Number(other[1]) - Number(one[1]) ||
    Number(other[3] ?? 0) - Number(one[3] ?? 0)
  );
}
