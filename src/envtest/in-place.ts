/** The API server of envtest: a cluster with the flags of kube-apiserver, until a signal ends it. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { parseDurationMs } from '../api/values/duration.ts';
import { wallClock } from '../clock.ts';
import { type Cluster, defaultLimits, type StartOptions, start } from '../cluster/index.ts';
import type { SecureOptions } from '../cluster/options/start-options.ts';
import { Authority, makeAuthority, servingUsages, yearMs } from '../pki/authority.ts';
import { writePrivately } from '../pki/pki-folder.ts';
import { Ending } from '../program/ending.ts';
import { servedOptions } from '../program/start-line.ts';
import { emulatedVersion } from './emulated-version.ts';
import { gatesOf } from './feature-gates.ts';
import { type FlagValues, isTrue, lastOf } from './flag.ts';
import { accountSettingsOf, serverSettingsOf } from './flag-settings.ts';
import { fileProblem } from './given-files.ts';
import { runtimeConfigOf } from './runtime-config-flag.ts';
import { serveLine } from './serve-line.ts';

export interface ServerPlan {
  readonly values: FlagValues;
  readonly dataDir: string;
  readonly requestBytesMax: number;
  /** Whether etcd was started without waiting for the disk. */
  readonly unsafeNoFsync: boolean;
  /** In the form of `--wherry-controllers`. */
  readonly controllers: string;
  /** The version of Kubernetes to be, `1.29.4`; undefined: the newest, or what `--emulated-version` says. */
  readonly version: string | undefined;
  readonly log: (source: string, text: string) => void;
  /** Ends the process. */
  readonly fail: (message: string) => never;
}

/** Controllers that finish deletions, and no others: test suites create pods and statuses themselves. */
const cleanup: readonly string[] = ['namespace', 'garbagecollector', 'protection', 'event-expiry'];
const collector = 'garbagecollector';

/** Resolves when the server answers. */
export async function serveInPlace(plan: ServerPlan): Promise<{ end(): void }> {
  const { values, log, fail } = plan;
  const problem = fileProblem(values);
  if (problem) fail(problem);
  const certificate = servingFiles(values, log);
  const line = serveLine(values, {
    dataDir: plan.dataDir,
    requestBytesMax: plan.requestBytesMax,
    bodyBytesMax: defaultLimits.bodyBytesMax,
    ...certificate,
  });
  const ending = new Ending(process);
  const options = servedOptions(line);
  const cluster = await ending
    .of(start(optionsOf(plan, options, (error) => ending.failRunning(error))))
    .catch((error: Error) => fail(failureOf(error, values)));
  log('secure_serving.go:214', `Serving securely on ${addressOf(cluster)}`);
  return { end: () => process.kill(process.pid, 'SIGTERM') };
}

function optionsOf(plan: ServerPlan, options: StartOptions, onFatal: (error: Error) => void): StartOptions {
  const { values, log } = plan;
  const secure = options.secure as SecureOptions;
  const kubernetes = plan.version ?? emulatedVersion(values);
  const lifeMs = parseDurationMs(lastOf(values, 'event-ttl') ?? '1h0m0s')!;
  return {
    ...options,
    ...(kubernetes === undefined ? {} : { kubernetes, featureGates: gatesOf(values) }),
    runtimeConfig: runtimeConfigOf(values),
    controllers: controllersOf(plan.controllers, isTrue(values, 'enable-garbage-collector', true)),
    controllerSettings: {
      ...options.controllerSettings,
      eventLifeMs: lifeMs,
      collectOnlyDeletedOwners: true,
      namespaceGraceMs: 100,
    },
    unsafeNoFsync: plan.unsafeNoFsync,
    apiServer: {
      ...serverSettingsOf(values),
      ...(plan.version === undefined ? {} : { gitVersion: `v${plan.version}` }),
    },
    secure: {
      ...secure,
      serviceAccounts: { ...secure.serviceAccounts, ...accountSettingsOf(values) },
      advertiseAddress: lastOf(values, 'advertise-address'),
      kubeconfigFile: false,
    },
    onError: (error) => log('server.go:1', error.stack ?? error.message),
    onWarning: (message) => log('server.go:1', message),
    onFatal,
  };
}

function controllersOf(text: string, collects: boolean): string[] {
  const list = text.split(',').filter(Boolean);
  const named = list.flatMap((item) => (item === 'cleanup' ? cleanup : [item]));
  const all = named.every((item) => item.startsWith('-')) ? [...cleanup, ...named] : named;
  const without = all.length > 1 ? all.filter((item) => item !== 'none') : all;
  return collects
    ? without
    : without.includes(collector) || without.includes('*')
      ? [...without, `-${collector}`]
      : without;
}

/** The serving certificate: given files, those in the certificate folder, or new ones written there. */
function servingFiles(values: FlagValues, log: ServerPlan['log']): { certFile: string; keyFile: string } {
  const given = lastOf(values, 'tls-cert-file');
  if (given) return { certFile: given, keyFile: lastOf(values, 'tls-private-key-file')! };
  const folder = lastOf(values, 'cert-dir') || '/var/run/kubernetes';
  const files = { certFile: path.join(folder, 'apiserver.crt'), keyFile: path.join(folder, 'apiserver.key') };
  if (existsSync(files.certFile) && existsSync(files.keyFile)) return files;
  mkdirSync(folder, { recursive: true });
  const nowMs = wallClock();
  const name = `${hostname()}@${Math.floor(nowMs / 1000)}`;
  const authority = new Authority(makeAuthority(`${hostname()}-ca@${Math.floor(nowMs / 1000)}`, nowMs));
  const made = authority.issue(
    { subject: { commonName: name }, usages: servingUsages, hosts: hostsOf(values), lifeMs: yearMs },
    nowMs,
  );
  writePrivately(files.keyFile, made.key);
  writeFileSync(files.certFile, made.cert + authority.pem.cert, { mode: 0o644 });
  log('serving.go:405', `Generated self-signed cert (${files.certFile}, ${files.keyFile})`);
  return files;
}

/** Names by which clients may reach the server. */
function hostsOf(values: FlagValues): string[] {
  const named = ['advertise-address', 'bind-address', 'external-hostname']
    .map((name) => lastOf(values, name))
    .filter((host) => host !== undefined && host !== '' && host !== '0.0.0.0' && host !== '::') as string[];
  const services = ['kubernetes.default.svc', 'kubernetes.default', 'kubernetes', 'localhost'];
  return [...new Set([...services, ...named, '127.0.0.1', '::1'])];
}

function failureOf(error: Error, values: FlagValues): string {
  const where = `${lastOf(values, 'bind-address') ?? '0.0.0.0'}:${lastOf(values, 'secure-port') ?? 6443}`;
  const { code } = (error.cause ?? error) as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return `failed to create listener: failed to listen on ${where}: listen tcp ${where}: bind: address already in use`;
  return error.message;
}

function addressOf({ secureUrl }: Cluster): string {
  const { hostname: host, port } = new URL(secureUrl!);
  return `${host}:${port || 443}`;
}
