/**
 * Scripts of commands and their expected output, in text files that look like a terminal session:
 *
 *   < name        a file of this name; the lines that follow are its content
 *   $ command     is run by a shell; the lines that follow are its output, stderr included
 *   ~ command     the same, repeated until the output matches
 *   [1]           as the last line: the command ends with this code
 *   1.20| …       a line for this version of kubectl only: its own wording, or a command that others do not have
 *
 * Lines before the first of these are comments. Column widths depend on their content, so any number of spaces greater
 * than one counts as two; spaces at the end of a line are ignored. A line `...` matches any lines. Values that differ
 * from run to run have a placeholder: see `placeholders`. Lines for single versions are not asserted of other versions of
 * kubectl, only the common lines are.
 */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { Kubectl } from './kubectl.ts';

/** Time limit of a command, and of repeating one. */
const commandMaxMs = 60_000;
const repeatMaxMs = 60_000;
const repeatEveryMs = 100;

/** The versions of kubectl whose wording is in the scripts. */
const keptVersions = ['1.20', '1.32'];

const placeholders: Readonly<Record<string, string>> = {
  '<age>': '(\\d+[smhd])+',
  '<hash>': '[a-z0-9]{5,10}',
  '<ip>': '\\d+\\.\\d+\\.\\d+\\.\\d+',
  '<number>': '"?\\d+"?',
  '<port>': '\\d+',
  '<suffix>': '[a-z0-9]{5}',
  '<time>': '("?\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z"?|\\w{3}, \\d\\d \\w{3} \\d{4} [\\d:]+ \\+0000)',
  '<uid>': '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}',
  '<version>': 'v\\d+\\.\\d+\\.\\d+\\S*',
  '<*>': '.*',
};
const anyPlaceholder = new RegExp(`(${Object.keys(placeholders).join('|').replace('*', '\\*')})`);

interface OpenStep extends Step {
  /** The version it is for; undefined: all. */
  readonly only: string | undefined;
  readonly content: string[];
}

interface Step {
  readonly line: number;
  readonly mark: '<' | '$' | '~';
  readonly text: string;
  readonly content: readonly string[];
}

/** Runs `scripts/<name>.txt` from top to bottom. */
export async function runScript(name: string, kubectl: Kubectl): Promise<void> {
  const file = fileURLToPath(new URL(`scripts/${name}.txt`, import.meta.url));
  await ready(kubectl.cluster.url);
  for (const step of parse(readFileSync(file, 'utf8'), kubectl.version)) {
    if (step.mark === '<') writeFileSync(path.join(folderOf(kubectl), step.text), lines(step.content));
    else await check(name, step, kubectl);
  }
}

/** Resolves when the server and its nodes are ready. */
async function ready(url: string): Promise<void> {
  const deadline = Date.now() + repeatMaxMs;
  while (!(await fetch(`${url}/readyz`)).ok) {
    if (Date.now() > deadline) throw new Error('the cluster does not get ready');
    await new Promise((resolve) => setTimeout(resolve, repeatEveryMs));
  }
}

const lines = (content: readonly string[]): string => content.map((line) => `${line}\n`).join('');
const folderOf = (kubectl: Kubectl): string => kubectl.environment.HOME!;

/** The steps for a version of kubectl. */
export function parse(text: string, version: string): Step[] {
  const isKept = keptVersions.includes(version);
  // A version without its own wording uses the commands of the newest.
  const commands = isKept ? version : keptVersions.at(-1);
  const steps: OpenStep[] = [];
  /** The current step; undefined inside a step of another version. */
  let step: OpenStep | undefined;
  for (const [i, written] of text.split('\n').entries()) {
    const [, only, marked] = /^(\d+\.\d+)\| ?(.*)$/.exec(written) ?? [];
    const [, mark, rest] = /^([<$~]) (.*)$/.exec(marked ?? written) ?? [];
    if (mark && only && only !== commands) {
      // Consecutive commands of several versions share the lines that follow.
      if (!step?.only || step.content.length > 0) step = undefined;
    } else if (mark) {
      step = { line: i + 1, mark: mark as Step['mark'], text: rest!, only, content: [] };
      steps.push(step);
    } else if (!only || only === (step?.mark === '<' ? commands : version))
      step?.content.push(marked ?? written);
    else if (!isKept && step?.mark !== '<' && step?.content.at(-1) !== '...') step?.content.push('...');
  }
  // Empty lines separate steps.
  for (const { content } of steps) while (content.at(-1) === '') content.pop();
  return steps;
}

async function check(script: string, { line, mark, text, content }: Step, kubectl: Kubectl): Promise<void> {
  const pattern = patternOf(content);
  const deadline = Date.now() + repeatMaxMs;
  let printed = await run(text, kubectl);
  while (mark === '~' && !pattern.test(printed) && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, repeatEveryMs));
    printed = await run(text, kubectl);
  }
  if (pattern.test(printed)) return;
  const where = `${script}.txt:${line}\n$ ${text}\n`;
  expect(where + readable(printed, content)).toBe(where + lines(content.map(settled)));
}

/** The output, with placeholders where they match, so that a diff shows only real differences. */
const readable = (printed: string, content: readonly string[]): string =>
  printed.replace(/.*\n/g, (line) =>
    lines([content.map(settled).find((said) => patternOf([said]).test(line)) ?? line.slice(0, -1)]),
  );

const settled = (line: string): string => line.trimEnd().replace(/(?<=\S) {2,}/g, '  ');

/** A command's output in normal form: no colours, no padding, the exit code at the end if it is not 0. */
async function run(command: string, kubectl: Kubectl): Promise<string> {
  const { output, code } = await shell(command, kubectl);
  const plain = output.replace(/\u001b\[[\d;]*m/g, '').trimEnd();
  const printed = plain === '' ? [] : plain.split('\n').map(settled);
  return lines(code === 0 ? printed : [...printed, `[${code}]`]);
}

function patternOf(content: readonly string[]): RegExp {
  const parts = content.map((line) =>
    line === '...' ? '(.*\\n)*?' : `${settled(line).split(anyPlaceholder).map(partPattern).join('')}\\n`,
  );
  return new RegExp(`^${parts.join('')}$`);
}

const partPattern = (part: string): string =>
  Object.hasOwn(placeholders, part) ? placeholders[part]! : part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** Runs a shell in its own process group, which is killed as a whole when it takes too long. */
function shell(command: string, kubectl: Kubectl): Promise<{ output: string; code: number }> {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', `exec 2>&1\n${command}`], {
      cwd: folderOf(kubectl),
      // Files left by an editor are deleted with the folder.
      env: { ...kubectl.environment, TMPDIR: folderOf(kubectl), TZ: 'UTC' },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), commandMaxMs);
    let output = '';
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ output: signal ? `${output}[${signal}]` : output, code: code ?? 1 });
    });
  });
}
