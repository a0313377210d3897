/** Proves that the help of each command is short, complete where it says so, and made from declarations that hold together. */
import { describe, expect, it } from 'vitest';
import { commands, flagsOf } from '../cluster/options/option.ts';
import { commandForms, commandGroups } from './command-forms.ts';
import { flagsTaken, sections, takesFlag } from './flag-sections.ts';
import { helpText } from './help.ts';
import { readCommandLine } from './options.ts';

const flagsMax = 12;
/** What fits a terminal of a usual size, its prompt included. */
const linesMax = 40;
const columnsMax = 120;

const flagsIn = (text: string): string[] =>
  [...text.matchAll(/^ {2}--([a-z0-9-]+)/gm)].map(([, flag]) => flag!);
const takenBy = (command: (typeof commands)[number]): string[] =>
  sections.flatMap((section) => flagsTaken(command, section)).map(({ flag }) => flag);

describe.each(commands)('the help of %s', (command) => {
  it('shows at most twelve flags on a screen, all of which the command takes', () => {
    const text = helpText(command, false);
    const shown = flagsIn(text);
    expect(shown.length).toBeGreaterThan(0);
    expect(shown.length).toBeLessThanOrEqual(flagsMax);
    expect(shown.filter((flag) => !takesFlag(command, flag))).toEqual([]);
    expect(text.split('\n').length).toBeLessThanOrEqual(linesMax);
    expect(text).toContain(`Usage: wherry ${command}`);
  });

  it('with --help-all shows every flag that the command takes, once', () => {
    expect(flagsIn(helpText(command, true)).sort()).toEqual(takenBy(command).sort());
  });

  it('says how many more flags there are', () => {
    const hidden = takenBy(command).length - flagsIn(helpText(command, false)).length;
    const said = /--help-all shows (\d+) more/.exec(helpText(command, false))?.[1];
    expect(Number(said ?? 0)).toBe(hidden);
  });

  it('has examples that the command takes', () => {
    for (const [line] of commandForms[command].examples ?? []) {
      const [, words] = /\bwherry ([^>)|]*)/.exec(line)!;
      expect(() => readCommandLine(words!.trim().split(' ')), line).not.toThrow();
    }
  });
});

it('names each command once in its groups', () => {
  expect(commandGroups.flatMap(([, members]) => members).sort()).toEqual([...commands].sort());
});

it('has lines that fit', () => {
  const texts = [undefined, ...commands].flatMap((one) => [helpText(one, false), helpText(one, true)]);
  expect(texts.flatMap((text) => text.split('\n')).filter((line) => line.length > columnsMax)).toEqual([]);
});

it('has an overview on a screen, without flags', () => {
  const text = helpText(undefined, false);
  expect(flagsIn(text)).toEqual([]);
  expect(text.split('\n').length).toBeLessThanOrEqual(linesMax);
});

it('marks flags as needed for commands that take them', () => {
  for (const { flag, needed = [] } of sections.flatMap(({ topics }) => topics).flatMap(flagsOf))
    for (const command of needed)
      expect({ flag, taken: takesFlag(command, flag) }).toEqual({ flag, taken: true });
});

it('gives a letter to one flag only', () => {
  const pairs = new Set(
    sections
      .flatMap(({ topics }) => topics)
      .flatMap(flagsOf)
      .flatMap(({ flag, short }) => (short ? [`${short} ${flag}`] : [])),
  );
  const letters = [...pairs].map((pair) => pair[0]);
  expect(letters).toContain('h');
  expect(new Set(letters).size).toBe(letters.length);
});
