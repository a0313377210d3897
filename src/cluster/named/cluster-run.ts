/** A run of a named cluster: takes the name before the start, and keeps its record up to date until the end. */
import { existsSync, readdirSync } from 'node:fs';
import { wallClock } from '../../clock.ts';
import { bootId } from '../../node/process/process-table.ts';
import { currentOwner } from '../../store/owner.ts';
import type { StartOptions } from '../options/start-options.ts';
import { StartError } from '../shared/start-error.ts';
import { type Allotment, allot, type Open } from './allotment.ts';
import { type Asked, type Choice, chooseCluster } from './cluster-choice.ts';
import {
  allRecords,
  type ClusterRecord,
  locked,
  readRecord,
  removeRecord,
  writeRecord,
} from './cluster-record.ts';
import { runningProcess } from './cluster-state.ts';

export interface RunAsked extends Asked {
  /** Whether objects are kept in memory. */
  readonly inMemory: boolean;
  readonly open: Open;
  /** The options and the folder of this start, for the next one. */
  readonly args: readonly string[];
  readonly cwd: string;
  readonly version: string;
  /** The file that the output of this process goes to. */
  readonly log: string | undefined;
}

export class ClusterRun {
  #record: ClusterRecord;

  private constructor(
    readonly choice: Choice,
    record: ClusterRecord,
    /** Ports and ranges that the options leave open. */
    private readonly chosen: Allotment,
    private readonly former: ClusterRecord | undefined,
  ) {
    this.#record = record;
  }

  /**
   * Takes the name for this process, and chooses ports and ranges. Throws a `StartError` when the cluster runs already.
   */
  static take(asked: RunAsked): Promise<ClusterRun> {
    return locked(async () => {
      const choice = chooseCluster(asked);
      refuseRunning(choice);
      const { name, dataDir, record: former } = choice;
      const others = allRecords().filter((one) => one.name !== name);
      const {
        url: _url,
        secureUrl: _secure,
        failure: _failure,
        log: _log,
        inMemory: _memory,
        ...kept
      } = former ?? {};
      const chosen = await allot(asked.open, former ?? knownBefore(asked, choice), others);
      const record: ClusterRecord = {
        ...kept,
        name,
        ...(asked.inMemory ? { inMemory: true } : { dataDir }),
        ...chosen,
        process: currentOwner(),
        boot: bootId(),
        startedAt: new Date(wallClock()).toISOString(),
        version: asked.version,
        args: asked.args,
        cwd: asked.cwd,
        ...(asked.log === undefined ? {} : { log: asked.log }),
      };
      writeRecord(record);
      return new ClusterRun(choice, record, chosen, former);
    });
  }

  get record(): ClusterRecord {
    return this.#record;
  }

  /** The options of the start, with what was chosen. */
  options(given: StartOptions): StartOptions {
    const { dataDir, inMemory } = this.#record;
    const { port, securePort, serviceRange, podRange } = this.chosen;
    const { secure, node } = given;
    return {
      ...given,
      ...(dataDir === undefined || inMemory ? {} : { dataDir }),
      ...(port === undefined ? {} : { port }),
      ...(securePort === undefined || typeof secure !== 'object'
        ? {}
        : { secure: { ...secure, port: securePort, orAnyPort: false } }),
      ...(serviceRange === undefined ? {} : { serviceClusterIPRange: serviceRange }),
      // The default range needs no check, whose code a start can do without.
      ...(podRange === undefined || podRange === defaultPodRange || typeof node !== 'object'
        ? {}
        : { node: { ...node, podRange } }),
    };
  }

  /** Ranges that the options of a start name, for the record: other clusters keep away from them. */
  rangesOf({ serviceClusterIPRange: named, node }: StartOptions): Partial<ClusterRecord> {
    const { inMemory, serviceRange: known } = this.#record;
    // Objects on disk keep the range that they have, whatever the options say.
    const serviceRange = inMemory ? (named ?? known) : (known ?? named);
    const podRange = typeof node === 'object' ? node.podRange : undefined;
    return {
      ...(serviceRange === undefined ? {} : { serviceRange }),
      ...(podRange === undefined ? {} : { podRange }),
    };
  }

  update(changes: Partial<ClusterRecord>): void {
    this.#record = { ...this.#record, ...changes };
    writeRecord(this.#record);
  }

  /**
   * Called when the start has failed: restores the record. A new cluster whose data were made already is kept, so that it
   * is listed and deleted, and its services keep their addresses; its ports are chosen anew.
   */
  fail(): void {
    if (this.former) return writeRecord(this.former);
    const { process: _ended, port: _port, securePort: _secure, ...record } = this.#record;
    const { name, dataDir, inMemory } = record;
    if (dataDir !== undefined && !inMemory && hasObjects(dataDir)) writeRecord(record);
    else removeRecord(name);
  }

  /** Whether a start failed because another process took a port between its choice and its use. */
  isOutrun(error: unknown): boolean {
    const { code, port } = ((error as Error).cause ?? {}) as { code?: string; port?: number };
    if (code !== 'EADDRINUSE' || port === undefined) return false;
    return this.#chosenPorts.includes(port);
  }

  /** Ports that were chosen for this run; those of an earlier one stay. */
  get #chosenPorts(): readonly (number | undefined)[] {
    const { former } = this;
    const { port, securePort } = this.chosen;
    return [
      ...(former?.port === undefined ? [port] : []),
      ...(former?.securePort === undefined ? [securePort] : []),
    ];
  }

  /** Called when the cluster was stopped. */
  end(): void {
    const { process: _ended, ...record } = this.#record;
    this.#record = record;
    // The cluster may have been deleted meanwhile.
    if (readRecord(record.name)) writeRecord(record);
  }
}

const defaultPodRange = '10.217.0.0/16';
const defaultServiceRange = '10.0.0.0/24';

/** A folder with objects from before clusters had names: its services keep their addresses. */
const knownBefore = ({ inMemory }: RunAsked, { name, dataDir }: Choice): ClusterRecord | undefined =>
  inMemory || !hasObjects(dataDir) ? undefined : { name, serviceRange: defaultServiceRange };

const hasObjects = (dataDir: string): boolean =>
  existsSync(dataDir) && readdirSync(dataDir).some((name) => /\.mdb$/.test(name) || name === 'pki');

/** Throws a `StartError` when the cluster runs already. */
export function refuseRunning({ name, record, isLocal }: Choice): void {
  const pid = record && runningProcess(record);
  if (pid === undefined) return;
  const where = record?.url === undefined ? '' : ` at ${record.url}`;
  const advice = isLocal ? '' : '; --name NAME starts another';
  throw new StartError(`the cluster ${name} runs already${where}, as process ${pid}${advice}`);
}
