/**
 * Completes command lines. The script of a shell (`completion-scripts.ts`) runs `wherry __complete WORDS…` at each
 * press of the key, so that all shells complete the same, from the declarations of commands and flags.
 */
import { knownNames } from '../cluster/known-names.ts';
import { everyFlags } from '../cluster/options/commands.ts';
import { type Command, commands, flagsOf, type Option } from '../cluster/options/option.ts';
import { commandForms, type WordForm } from './command-forms.ts';
import { completionScript } from './completion-scripts.ts';
import { flagsTaken, sections } from './flag-sections.ts';
import { type CompletionLine, completionQuestion } from './options.ts';

type Form = NonNullable<Option<unknown>['form']>;

/** Stands for an empty last word, which some shells cannot pass. */
const emptyWord = '--empty-word';
/** Maximum length of a description, which is one line beside the word. */
const descriptionCharsMax = 70;

interface Candidate {
  readonly word: string;
  readonly says?: string;
}

interface Candidates {
  readonly found: readonly Candidate[];
  /**
   * What the shell should do: nothing more, leave out the space behind the word, or complete files or folders itself.
   */
  readonly shell: 'plain' | 'nospace' | 'files' | 'folders';
}

const nothing: Candidates = { found: [], shell: 'plain' };

/** The script of a shell; or the answer to it: a line for each word, and one that tells the shell what to do. */
export async function completionText(line: CompletionLine): Promise<string> {
  if (line.command !== completionQuestion) return completionScript(line.shell);
  const words = line.words.map((word) => (word === emptyWord ? '' : word));
  const { found, shell } = await completed(words);
  const lines = found.map(({ word, says }) => `${word}\t${says ?? ''}\n`);
  return `${lines.join('')}:${shell}\n`;
}

/** @param words after `wherry`; the last is being typed */
async function completed(words: readonly string[]): Promise<Candidates> {
  const before = words.slice(0, -1);
  const typed = words.at(-1) ?? '';
  const { command, others, open, isOver } = readSoFar(before);
  // After `wherry test --`: the words of another program.
  if (isOver) return { found: [], shell: 'files' };
  if (open) return startingWith(typed, await valuesOf(open, typed));
  const [, flag, value] = /^--([^=]+)=(.*)$/s.exec(typed) ?? [];
  if (flag !== undefined) {
    const form = flagsFor(command).find((one) => one.flag === flag);
    if (!form) return nothing;
    const { found, shell } = startingWith(value!, await valuesOf(form, value!));
    return { found: found.map((one) => ({ ...one, word: `--${flag}=${one.word}` })), shell };
  }
  if (typed.startsWith('-'))
    return startingWith(typed, { found: flagWords(command, before), shell: 'plain' });
  return startingWith(typed, await wordsOf(command, others.length));
}

interface SoFar {
  readonly command: Command | undefined;
  /** Words after the command that are neither flags nor values of flags. */
  readonly others: readonly string[];
  /** The flag whose value is being typed, if any. */
  readonly open: Form | undefined;
  /** Whether the words of another program have begun. */
  readonly isOver: boolean;
}

function readSoFar(words: readonly string[]): SoFar {
  let command: Command | undefined;
  let open: Form | undefined;
  const others: string[] = [];
  for (const word of words) {
    if (open) open = undefined;
    else if (word === '--') return { command, others, open, isOver: true };
    else if (word.startsWith('-')) open = openedBy(word, command);
    else if (command) others.push(word);
    else command = commands.find((one) => one === word);
  }
  return { command, others, open, isOver: false };
}

/** The flag of a word, if its value is the next word. */
function openedBy(word: string, command: Command | undefined): Form | undefined {
  if (word.includes('=')) return undefined;
  const form = flagsFor(command).find(({ flag, short }) => word === `--${flag}` || word === `-${short}`);
  return form && form.value.form !== 'switch' && form.value.form !== 'truth' ? form : undefined;
}

/** The flags of a command; all flags before there is a command. */
const flagsFor = (command: Command | undefined): readonly Form[] =>
  command ? sections.flatMap((section) => flagsTaken(command, section)) : flagsOf(everyFlags);

/** Flags that can still be given: without given ones that count only once. */
function flagWords(command: Command | undefined, before: readonly string[]): readonly Candidate[] {
  const given = new Set(before.map((word) => word.replace(/=.*$/s, '')));
  return flagsFor(command)
    .filter(({ flag, value: { form } }) => form === 'list' || form === 'repeated' || !given.has(`--${flag}`))
    .map(({ flag, text }) => ({ word: `--${flag}`, says: description(text) }));
}

/** The beginning of a help text, on one line. */
function description(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  return line.length <= descriptionCharsMax ? line : `${line.slice(0, descriptionCharsMax - 1)}…`;
}

const byShown: Readonly<Record<string, WordForm>> = { FILE: 'files', FOLDER: 'folders' };

async function valuesOf({ value, shown = value.shown }: Form, typed: string): Promise<Candidates> {
  const completes = value.completes ?? byShown[shown];
  const values = await wordsOfForm(completes);
  if (shown !== 'LIST') return values;
  // Another item of a list, or one to remove.
  const begun = typed.slice(0, typed.lastIndexOf(',') + 1);
  const minus = completes === 'controllers' && typed.slice(begun.length).startsWith('-') ? '-' : '';
  const found = values.found.map((one) => ({ ...one, word: `${begun}${minus}${one.word}` }));
  return { found, shell: found.length ? 'nospace' : values.shell };
}

async function wordsOf(command: Command | undefined, index: number): Promise<Candidates> {
  if (!command) return { found: commandWords(), shell: 'plain' };
  return wordsOfForm(commandForms[command].words?.[index]);
}

const commandWords = (): readonly Candidate[] =>
  commands.map((word) => ({ word, says: commandForms[word].summary }));

async function wordsOfForm(form: WordForm | undefined): Promise<Candidates> {
  if (form === undefined) return nothing;
  if (form === 'files' || form === 'folders') return { found: [], shell: form };
  const words = typeof form === 'string' ? await knownNames[form]() : form;
  return { found: words.map((word) => ({ word })), shell: 'plain' };
}

const startingWith = (typed: string, { found, shell }: Candidates): Candidates => ({
  found: found.filter(({ word }) => word.startsWith(typed)),
  shell,
});
