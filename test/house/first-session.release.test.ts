/**
 * Proves that the first ten minutes are as docs/first-session.md shows them: a person at a terminal, without the rights of
 * root or an engine being needed. With WHERRY_RECORD=1 it writes the page from what it sees.
 */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { Terminal } from '../streams/pty.ts';
import { command } from '../support/child.ts';

const page = path.join(import.meta.dirname, '../../docs/first-session.md');
const home = mkdtempSync(path.join(tmpdir(), 'wherry-first-'));

const commands = [
  'wherry up -d --node-name laptop',
  'kubectl get nodes',
  "kubectl create deployment clock --image=host -- sh -c 'echo It is noon; exec sleep 1000'",
  'kubectl rollout status deployment/clock',
  'kubectl get pods',
  'kubectl logs deployment/clock',
  'wherry snapshot save noon',
  'kubectl delete deployment clock',
  'kubectl get deployments',
  'wherry snapshot load noon',
  'kubectl rollout status deployment/clock',
  'wherry up -d --name dev --simulated-nodes 3',
  'kubectl --context wherry-dev get nodes',
  'wherry list',
  'wherry stop dev',
  'wherry status dev',
  'wherry restart dev',
  'kubectl config get-contexts',
  'wherry delete --all --yes',
  'wherry list',
];

/** The session as text: each command behind a dollar sign, and what it printed. */
async function recorded(): Promise<string> {
  const programs = path.join(home, 'bin');
  mkdirSync(programs);
  const wherry = path.join(programs, 'wherry');
  writeFileSync(wherry, `#!/bin/sh\nexec "${process.execPath}" "${command}" "$@"\n`);
  chmodSync(wherry, 0o755);
  const environment = { HOME: home, PATH: `${programs}:${process.env['PATH']}`, PS1: '$ ', ENV: '' };
  const shell = new Terminal({ kubectl: { program: '/bin/sh', environment } }, ['-i'], {
    cols: 300,
    rows: 60,
    cwd: home,
  });
  await shell.shows(/\$ $/);
  for (const line of commands) {
    shell.type(`${line}\r`);
    await shell.shows(/\r\n\$ $/);
  }
  const text = stripVTControlCharacters(shell.screen).replaceAll('\r', '').replace(/\$ $/, '');
  shell.kill();
  return withUsualPorts(text.slice(text.indexOf('$ wherry')).replaceAll(home, '/home/me'));
}

/** Clusters have other ports where these are taken. */
function withUsualPorts(text: string): string {
  const firsts = { http: 8080, https: 6443 } as const;
  return Object.entries(firsts).reduce((now, [scheme, first]) => {
    const urls = new RegExp(`(?<=${scheme}://127\\.0\\.0\\.1:)\\d+`, 'g');
    const seen = [...new Set([...now.matchAll(urls)].map(([port]) => port))];
    return now.replace(urls, (port) => String(first + seen.indexOf(port)));
  }, text);
}

/** What is the same each time and on each machine. */
const comparable = (text: string): string[] =>
  text
    .split('\n')
    .filter(
      (line) => !/^(Node |pod network|services: |runtimes: |Waiting for )|^(warning|error|note) /i.test(line),
    )
    .map((line) =>
      line
        .replace(/clock-[a-z0-9]+-[a-z0-9]+/g, 'clock-POD')
        .replace(/\d+(m\d+)?(s|m)?/g, '#')
        .replace(/[\s-]+/g, ' ')
        .trim(),
    );

afterAll(() => rmSync(home, { recursive: true, force: true }));

it('the first ten minutes are those of the page', async () => {
  const session = await recorded();
  if (process.env['WHERRY_RECORD'] === '1') {
    const before = readFileSync(page, 'utf8');
    writeFileSync(
      page,
      before.replace(/```\n[\s\S]*```\n/, () => `\`\`\`\n${session}\`\`\`\n`),
    );
  }
  const [, shown] = /```\n([\s\S]*)```\n/.exec(readFileSync(page, 'utf8'))!;
  expect(comparable(session)).toEqual(comparable(shown!));
});
