/** The text of an expression, and errors that point into it as cel-go prints them. */

export interface Issue {
  /** Position in UTF-16 units. */
  readonly at: number;
  readonly message: string;
}

/** Errors of one expression that are shown; cel-go stops at the same number. */
const issuesMax = 100;

/** Shown in place of text before the caret; the wide form keeps columns of wide characters aligned. */
const dot = '.';
const wideDot = '．';

/** `ERROR: <input>:1:5: undefined field 'y'`, the line, and a caret below the column; in the order of the text. */
export function issuesText(source: string, issues: readonly Issue[]): string {
  const sorted = [...issues].sort((a, b) => a.at - b.at);
  const shown = sorted.slice(0, issuesMax).map((issue) => issueText(source, issue));
  if (sorted.length > issuesMax)
    shown.push(`ERROR: <input>:-1:0: ${sorted.length - issuesMax} more errors were truncated`);
  return shown.join('\n');
}

function issueText(source: string, { at, message }: Issue): string {
  const before = source.slice(0, at);
  const lineStart = before.lastIndexOf('\n') + 1;
  const lineNumber = before.split('\n').length;
  const lineEnd = source.indexOf('\n', at);
  const line = source.slice(lineStart, lineEnd < 0 ? source.length : lineEnd).replaceAll('\t', ' ');
  const ahead = Array.from(source.slice(lineStart, at));
  const dots = ahead.map((character) => (isWide(character) ? wideDot : dot)).join('');
  const under = Array.from(source.slice(at, at + 2))[0] ?? '';
  return `ERROR: <input>:${lineNumber}:${ahead.length + 1}: ${message}\n | ${line}\n | ${dots}${isWide(under) ? '＾' : '^'}`;
}

/** East Asian scripts and emoji take two columns. */
function isWide(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return (
    (code >= 0x11_00 && code <= 0x11_5f) ||
    (code >= 0x2e_80 && code <= 0xa4_cf) ||
    (code >= 0xac_00 && code <= 0xd7_a3) ||
    (code >= 0xf9_00 && code <= 0xfa_ff) ||
    (code >= 0xfe_30 && code <= 0xfe_6f) ||
    (code >= 0xff_00 && code <= 0xff_60) ||
    (code >= 0x1_f3_00 && code <= 0x1_fa_ff) ||
    (code >= 0x2_00_00 && code <= 0x3_ff_fd)
  );
}
