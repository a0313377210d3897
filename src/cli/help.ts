/** What `--help` and `--help-all` print, made from the declarations of commands and flags. */
import { type Command, commands, flagsOf, type Option } from '../cluster/options/option.ts';
import { commandForms, commandGroups } from './command-forms.ts';
import { flagsTaken, type Section, sections } from './flag-sections.ts';

type Form = NonNullable<Option<unknown>['form']>;

/** The column where the text of a flag begins. */
const column = 24;
const indent = ' '.repeat(column);
/** A command with at most this many flags shows them all. */
const flagsShownMax = 12;

/**
 * @param command whose help is wanted; undefined: that of all
 * @param all whether every flag is shown, by subject
 */
export function helpText(command: Command | undefined, all: boolean): string {
  if (command === undefined) return all ? `${overview()}\n${allSections()}` : `${overview()}\n${further}`;
  return [heading(command), all ? ownSections(command) : neededFlags(command)].join('\n');
}

const further = `wherry COMMAND --help shows the options that most people need, wherry COMMAND --help-all all of them by subject.
`;

/** Commands that are flags, too: the overview has no line for them, so that it fits a screen. */
const alsoFlags: ReadonlySet<Command> = new Set(['help', 'version']);

function overview(): string {
  const width = Math.max(...commands.map((command) => command.length));
  const lineOf = (command: Command): string =>
    `  ${command.padEnd(width)}  ${commandForms[command].summary}\n`;
  const shown = (members: readonly Command[]): string =>
    members
      .filter((command) => !alsoFlags.has(command))
      .map(lineOf)
      .join('');
  const groups = commandGroups.map(([title, members]) => `${title}\n${shown(members)}`);
  return `Wherry is the Kubernetes API in one package: a cluster on this machine in a second.
Usage: wherry COMMAND [options]

${groups.join('\n')}`;
}

function heading(command: Command): string {
  const { usage, summary, examples = [] } = commandForms[command];
  const width = Math.max(...examples.map(([line]) => line.length));
  const lines = examples.map(([line, does]) => `  ${line.padEnd(width)}  ${does}\n`).join('');
  const sentence = `${summary[0]!.toUpperCase()}${summary.slice(1)}.`;
  return (
    `${sentence}\n\nUsage: wherry ${command} ${usage}`.trimEnd() +
    (lines && `\n\nExamples\n${lines.trimEnd()}`) +
    '\n'
  );
}

/** The flags that most people need, or all when there are few, and how to see the others. */
function neededFlags(command: Command): string {
  const taken = sections.flatMap((section) => flagsTaken(command, section));
  const isFew = taken.length <= flagsShownMax;
  const shown = isFew ? taken : taken.filter(({ needed }) => needed?.includes(command));
  const others = taken.length - shown.length;
  const more = others && `\nwherry ${command} --help-all shows ${others} more, by subject.\n`;
  return `Options\n${shown.map(flagText).join('')}${more || ''}`;
}

function ownSections(command: Command): string {
  return sections
    .map((section) => ({ section, flags: flagsTaken(command, section) }))
    .filter(({ flags }) => flags.length)
    .map(({ section, flags }) => sectionText(section.title, flags, section.note))
    .join('\n');
}

/** All flags, with the commands that take each section. */
function allSections(): string {
  return sections
    .map((section) =>
      sectionText(`${section.title} (${takersText(section)})`, formsOf(section), section.note),
    )
    .join('\n');
}

const formsOf = ({ topics }: Section): readonly Form[] => topics.flatMap(flagsOf);

/** The commands that take some flags of a section. */
function takersText(section: Section): string {
  const takers = commands.filter((command) => flagsTaken(command, section).length);
  return takers.length === commands.length ? 'every command' : takers.join(', ');
}

const sectionText = (title: string, flags: readonly Form[], note = ''): string =>
  `${title}\n${flags.map(flagText).join('')}${note}`;

function flagText({ flag, short, value, shown = value.shown, text, default: usual }: Form): string {
  const name = `  --${flag}${short ? `, -${short}` : ''}${shown && ` ${shown}`}`;
  const separator = text.endsWith('\n') ? '' : ' ';
  const words = usual === undefined ? text : `${text}${separator}(default ${usual})`;
  const below = words.startsWith('\n') || name.length >= column;
  const lines = words.replace(/^\n/, '').replaceAll('\n', `\n${indent}`);
  return `${below ? `${name}\n${indent}` : name.padEnd(column)}${lines}\n`;
}
