/** Answers the checks of `wherry doctor` from this machine. */

import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readFile, statfs } from 'node:fs/promises';
import { freemem } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { platform } from '../../platform.ts';
import { livingOwner } from '../../store/owner.ts';
import { checkPorts } from '../shared/ports.ts';
import type { EngineAnswer, FreeSpace, Probe } from './probe.ts';

/** How long a program or an engine may take for its answer. */
const answerMaxMs = 5_000;
const outputBytesMax = 64 * 1024;
const host = '127.0.0.1';
/** Folders of administrator programs, which are not on every user's PATH. */
const adminFolders = ['/usr/sbin', '/sbin'];

const isAllowed = (file: string): Promise<boolean> =>
  access(file, constants.W_OK).then(
    () => true,
    () => false,
  );

/** The folder itself, or the nearest above it that exists. */
async function existingFolder(folder: string): Promise<string> {
  for (let at = path.resolve(folder); ; at = path.dirname(at))
    if (
      at === path.dirname(at) ||
      (await access(at).then(
        () => true,
        () => false,
      ))
    )
      return at;
}

async function freeSpace(folder: string): Promise<FreeSpace | undefined> {
  try {
    const { bavail, bsize, files, ffree } = await statfs(await existingFolder(folder));
    return { bytes: bavail * bsize, fileShare: files ? ffree / files : 1 };
  } catch {
    return undefined;
  }
}

const run = (program: string, ...args: string[]): Promise<string | undefined> => {
  const PATH = [process.env.PATH, ...adminFolders].join(path.delimiter);
  const options = { timeout: answerMaxMs, maxBuffer: outputBytesMax, env: { ...process.env, PATH } };
  return promisify(execFile)(program, args, options).then(
    ({ stdout }) => stdout,
    () => undefined,
  );
};

const portProblem = (port: number): Promise<string | undefined> =>
  checkPorts([{ host, port }]).then(
    () => undefined,
    (error: Error) => error.message,
  );

async function dockerAt(socket: string): Promise<string> {
  const { DockerApi } = await import('../../node/runtime/docker/docker-api.ts');
  const api = new DockerApi(socket);
  try {
    await api.negotiate(answerMaxMs);
    const { Version = '', Components = [] } = await api.json<{
      Version?: string;
      Components?: { Name?: string }[];
    }>('GET', '/version', { timeoutMs: answerMaxMs });
    return `${Components.some(({ Name }) => Name?.startsWith('Podman')) ? 'Podman' : 'Docker'} ${Version}`;
  } finally {
    api.close();
  }
}

async function criAt(socket: string): Promise<string> {
  const { CriApi } = await import('../../node/runtime/cri/cri-api.ts');
  const api = new CriApi(socket);
  try {
    const { name = '', version = '' } = await api.call('Version', {}, { timeoutMs: answerMaxMs });
    return `${name} ${version}`;
  } finally {
    api.close();
  }
}

async function engines(): Promise<readonly EngineAnswer[]> {
  const { dockerSockets, existing } = await import('../../node/runtime/docker/docker-sockets.ts');
  const { criSockets } = await import('../../node/runtime/cri/cri-sockets.ts');
  const asked = [
    ...existing(dockerSockets(undefined)).map((socket) => ({ socket, ask: dockerAt })),
    ...existing(criSockets(undefined)).map((socket) => ({ socket, ask: criAt })),
  ];
  return Promise.all(
    asked.map(async ({ socket, ask }): Promise<EngineAnswer> => {
      if (!(await isAllowed(socket))) return { socket, isForbidden: true };
      const name = await ask(socket).catch(() => undefined);
      return name === undefined ? { socket } : { socket, name };
    }),
  );
}

export const machineProbe = (): Probe => ({
  platform: platform.name,
  nodeVersion: process.version,
  user: process.getuid?.(),
  freeMemoryBytes: freemem(),
  read: (file) => readFile(file, 'utf8').catch(() => undefined),
  isWritable: async (folder) => isAllowed(await existingFolder(folder)),
  freeSpace,
  run,
  portProblem,
  ownerOf: async (dataDir) => livingOwner(dataDir)?.pid,
  engines,
});
