/** A recorder: a server on a store that another cluster's changes are written to (`record.ts`). */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { wallClock } from '../clock.ts';
import { writePrivately } from '../pki/pki-folder.ts';
import { ClusterFollower } from '../recorder/following/cluster-follower.ts';
import { Recording } from '../recorder/following/recording.ts';
import {
  KubeconfigError,
  readKubeconfig,
  type SourceAccess,
  type TokenShelf,
} from '../recorder/source/kubeconfig.ts';
import type { OidcTokens } from '../recorder/source/oidc-token.ts';
import { SourceClient } from '../recorder/source/source-client.ts';
import type { View } from '../registry/view/view.ts';
import type { StartOptions } from './cluster.ts';
import { Later } from './later.ts';
import { copyOptions } from './open-dump.ts';
import { defaultOf } from './options/option.ts';
import { recordFlags } from './options/recording.ts';
import type { RecordedCluster, RecordOptions } from './record.ts';
import type { Copy } from './shared/copy.ts';
import type { RecordStatus } from './shared/record-status.ts';
import { type RecordingFile, readRecordingFile, writeRecordingFile } from './shared/recording-file.ts';
import { recordingMetrics } from './shared/recording-metrics.ts';
import { StartError } from './shared/start-error.ts';
import { startWith } from './start.ts';
import { type LongHistory, longHistory } from './store/long-history.ts';

/** Tokens that an issuer has given, in the data folder. */
const tokensFile = 'source-tokens.json';
/** The part of the size that changes may take: the present state, and pages that are being freed, need the rest. */
const changesShare = 0.6;
/** How often a cluster is tried that could not be reached at the start. */
const retryMs = 5_000;
/** How often gaps are dropped that are older than history. */
const upkeepMs = 60_000;

export async function startRecorder(options: RecordOptions): Promise<RecordedCluster> {
  const { dataDir, kubeconfig, context, progress } = options;
  const earlier = readRecordingFile(dataDir);
  if (!earlier && existsSync(path.join(dataDir, 'data.mdb')))
    throw new StartError(`${dataDir} holds objects that are no recording; record into another folder`);
  const access = accessOf(kubeconfig, context, tokenShelf(dataDir));
  const client = new SourceClient(
    access,
    options.requestsPerSecond ?? defaultOf(recordFlags.requestsPerSecond),
    undefined,
    'wherry-record',
  );
  const kept = longHistory(dataDir);
  const follower = new Later<ClusterFollower>('the recording is starting');
  const recordingOf = new Later<Recording>('the recording is starting');
  const view = new Later<View>('the recording is starting');
  const status = (): RecordStatus => statusOf(follower.part, recordingOf.part, client, view.part);
  const copy = copyOf(access.url, kept, recordingOf, () => (follower.current ? status() : undefined));
  const { cluster, parts } = await startWith(servingOptions(options), undefined, copy);
  view.set(parts.registry.view);
  const close = cluster.close.bind(cluster);
  try {
    const recording = await Recording.open(kept.store);
    recordingOf.set(recording);
    const following = new ClusterFollower({
      client,
      recording,
      kinds: options.kinds,
      secrets: options.secrets ?? 'keys',
      metadataOnly: options.metadataOnly ?? false,
      nowMs: wallClock,
      random: Math.random,
      warn: options.onWarning ?? (() => undefined),
    });
    follower.set(following);
    const begun = new Beginning(following, kept, parts.registry.view, (resource, kinds, kindsTotal) =>
      progress?.({ resource, kinds, kindsTotal }),
    );
    if (earlier) await sameCluster(dataDir, earlier, access.url, following);
    if (earlier?.isListed) {
      const { first } = earlier;
      if (first) parts.registry.view.beginsWith(first.version, first.timeMs);
      begun.again(options.onWarning);
    } else {
      const cluster = await following.identity();
      const file = { source: access.url, cluster, begun: new Date(wallClock()).toISOString() };
      writeRecordingFile(dataDir, { ...file, isListed: false });
      await begun.first();
      const { compacted: version, knownSinceMs: timeMs } = parts.registry.view;
      const isListed = { isListed: true, ...(timeMs === undefined ? {} : { first: { version, timeMs } }) };
      writeRecordingFile(dataDir, { ...file, ...isListed });
    }
    const upkeep = setInterval(() => {
      const { oldestMs } = parts.registry.view;
      if (oldestMs !== undefined) recording.dropGaps(oldestMs).catch(options.onError ?? (() => undefined));
    }, upkeepMs);
    upkeep.unref();
    const end = async (): Promise<void> => {
      clearInterval(upkeep);
      begun.stop();
      await following.stop();
      await close();
    };
    let ended: Promise<void> | undefined;
    return Object.assign(cluster, {
      source: access.url,
      status,
      close: () => {
        ended ??= end();
        return ended;
      },
    });
  } catch (error) {
    await follower.current?.stop();
    await close();
    if (error instanceof StartError) throw error;
    throw new StartError(`${access.url} cannot be recorded: ${(error as Error).message}`, { cause: error });
  }
}

/** The beginning of a recording, or of going on with one. */
class Beginning {
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(
    private readonly follower: ClusterFollower,
    private readonly kept: LongHistory,
    private readonly view: View,
    private readonly show: (resource: string, done: number, total: number) => void,
  ) {}

  /** What is there at first is no history: that begins after it. */
  async first(): Promise<void> {
    await this.follower.begin(this.show);
    const revision = this.kept.store.revision();
    await this.view.reached(revision);
    this.view.restart(revision);
    await this.kept.store.compact(revision);
    this.follower.run();
  }

  /** Goes on, as soon as the cluster can be reached. */
  again(warn: StartOptions['onWarning']): void {
    this.follower.begin(this.show).then(
      () => {
        if (!this.#isStopped) this.follower.run();
      },
      (error: Error) => {
        if (this.#isStopped) return;
        warn?.(`the cluster cannot be reached: ${error.message}; trying again`);
        this.#timer = setTimeout(() => this.again(undefined), retryMs);
      },
    );
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }
}

/** Refuses a folder that records a cluster elsewhere. One that was made anew at the same address is a gap. */
async function sameCluster(
  dataDir: string,
  { source, cluster }: RecordingFile,
  url: string,
  follower: ClusterFollower,
): Promise<void> {
  if (source === url) return;
  const found = await follower.identity().catch(() => '');
  if (!found || !cluster || found !== cluster)
    throw new StartError(`${dataDir} is a recording of ${source}; record ${url} into another folder`);
}

function accessOf(
  kubeconfig: string | undefined,
  context: string | undefined,
  shelf: TokenShelf,
): SourceAccess {
  try {
    return readKubeconfig(kubeconfig, context, shelf);
  } catch (error) {
    if (error instanceof KubeconfigError) throw new StartError(error.message);
    throw error;
  }
}

function tokenShelf(dataDir: string): TokenShelf {
  const file = path.join(dataDir, tokensFile);
  return {
    read: () => (existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as OidcTokens) : undefined),
    write: (tokens) => writePrivately(file, `${JSON.stringify(tokens)}\n`),
  };
}

function servingOptions(options: RecordOptions): StartOptions {
  const { port, host, ui, onError, onWarning, log } = options;
  const listening = { port, host, ui, onError, onWarning, log };
  const given = Object.fromEntries(Object.entries(listening).filter(([, value]) => value !== undefined));
  const ageMaxMs = options.historyMs ?? defaultOf(recordFlags.historyMs);
  const bytes = options.historyBytes ?? defaultOf(recordFlags.historyBytes);
  const history = { ageMaxMs, changesMax: Number.POSITIVE_INFINITY, bytesMax: bytes * changesShare };
  return { ...copyOptions, ...given, history };
}

function copyOf(
  source: string,
  { openStore, past }: LongHistory,
  recording: Later<Recording>,
  status: () => RecordStatus | undefined,
): Copy {
  return {
    about: `the cluster ${source}`,
    isWritable: false,
    kinds: [],
    openStore,
    past,
    gaps: () => recording.current?.gaps() ?? [],
    recording: () => ({ source, ...status() }),
    metrics: (out) => {
      const now = status();
      if (now) recordingMetrics(out, now);
    },
  };
}

function statusOf(
  { figures }: ClusterFollower,
  recording: Recording,
  client: SourceClient,
  view: View,
): RecordStatus {
  return {
    changes: figures.changes,
    lagMs: figures.lagMs(wallClock()),
    gaps: recording.gapCount,
    watched: figures.count('watching'),
    waiting: figures.count('waiting') + figures.count('listing'),
    refused: figures.count('refused'),
    skipped: figures.skipped,
    requests: client.requests,
    historyBytes: view.changeBytes,
  };
}
