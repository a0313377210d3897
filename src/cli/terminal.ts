/** Output for people: colours and ticks on a terminal, plain lines elsewhere. */

const codes = { red: 31, green: 32, yellow: 33 } as const;

export interface Screen {
  readonly isTTY?: boolean | undefined;
}

/** Whether to use colours: only on terminals that can show them, and unless `NO_COLOR` is set. */
const hasColours = ({ isTTY }: Screen, env: NodeJS.ProcessEnv = process.env): boolean =>
  isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';

export function coloured(text: string, colour: keyof typeof codes, screen: Screen = process.stdout): string {
  return hasColours(screen) ? `\u001b[${codes[colour]}m${text}\u001b[0m` : text;
}

/** A tick before a line, where there are colours. */
export const ticked = (line: string, screen: Screen = process.stdout): string =>
  hasColours(screen) ? `${coloured('✓', 'green', screen)} ${line}` : line;

/** Columns as wide as their longest cell. @param shown what is printed for a cell, as long as it plus colours */
export function table(
  rows: readonly (readonly string[])[],
  shown: (cell: string, column: number) => string = (cell) => cell,
): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => {
        const space = column === row.length - 1 ? '' : ' '.repeat(widths[column]! - cell.length);
        return `${shown(cell, column)}${space}`;
      })
      .join('  ');
  return rows.map((row) => `${line(row)}\n`).join('');
}
