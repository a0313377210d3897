/** `wherry doctor`: checks the machine, and reports what is missing, what follows from it, and what to do about it. */
import { type Asked, type Check, type Finding, states } from './finding.ts';
import { machineChecks } from './machine-checks.ts';
import type { Probe } from './probe.ts';
import { programChecks } from './program-checks.ts';

/** How many findings the start of a cluster prints. */
const startFindingsMax = 2;

export interface DoctorOptions extends Asked {
  readonly format: 'text' | 'json';
}

export interface Report {
  readonly text: string;
  /** Whether `wherry up` would not start. */
  readonly isBad: boolean;
}

type Found = Finding & { readonly subject: string };

const checks: readonly Check[] = [...programChecks, ...machineChecks];

const look = (probe: Probe, asked: Asked, wanted: readonly Check[]): Promise<Found[]> =>
  Promise.all(wanted.map(async (check) => ({ subject: check.subject, ...(await check.look(probe, asked)) })));

export async function examine(probe: Probe, { format, ...asked }: DoctorOptions): Promise<Report> {
  const found = await look(probe, asked, checks);
  const isBad = found.some(({ state }) => state === 'error');
  const text = format === 'json' ? `${JSON.stringify({ findings: found }, undefined, 2)}\n` : textOf(found);
  return { text, isBad };
}

const marks: Readonly<Record<Finding['state'], string>> = {
  error: 'ERROR  ',
  warning: 'warning',
  note: 'note   ',
  ok: 'ok     ',
};

function textOf(found: readonly Found[]): string {
  const width = Math.max(...found.map(({ subject }) => subject.length));
  const indent = ' '.repeat(marks.ok.length + width + 4);
  const lines = found.map(({ subject, state, says, means, remedy }) => {
    const more = [means && `${indent}${means}\n`, remedy && `${indent}→ ${remedy}\n`];
    return `${marks[state]}  ${subject.padEnd(width)}  ${says}\n${more.filter(Boolean).join('')}`;
  });
  return `${lines.join('')}\n${summary(found)}\n`;
}

function summary(found: readonly Found[]): string {
  const count = (wanted: Finding['state']): number => found.filter(({ state }) => state === wanted).length;
  if (count('error')) return 'wherry up does not start before the errors are mended.';
  if (count('warning')) return 'wherry up starts; what is warned of will be in the way at some time.';
  return count('note') ? 'wherry up starts; notes say what it can do less here.' : 'All is well.';
}

/** The most important findings for a cluster that has just been started, one line each; empty when all is well. */
export async function startFindings(probe: Probe, asked: Asked): Promise<readonly string[]> {
  const found = await look(
    probe,
    asked,
    checks.filter(({ isQuick }) => isQuick),
  );
  return found
    .filter(({ state }) => state === 'error' || state === 'warning')
    .sort((a, b) => states.indexOf(a.state) - states.indexOf(b.state))
    .slice(0, startFindingsMax)
    .map(({ subject, says, means }) => `Note: ${subject}: ${says}; ${means} (wherry doctor says more)`);
}
