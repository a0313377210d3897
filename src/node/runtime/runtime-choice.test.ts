import { describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { type LateRuntime, RuntimeChoice, type RuntimeMode, type RuntimeName } from './runtime-choice.ts';
import { ScriptedRuntime } from './scripted-runtime.fixture.ts';

/** The versions as runtimes report them: an engine of CRI includes its own name. */
const versions: Readonly<Record<string, string>> = { cri: 'containerd 2.1.4', docker: '28.2.2' };

class NamedRuntime extends ScriptedRuntime {
  override readonly version: string;

  constructor(override readonly name: string) {
    super();
    this.version = versions[name] ?? '1.0.0';
  }
}

interface Machine {
  readonly mode?: RuntimeMode;
  /** Engines whose sockets exist. */
  readonly there?: readonly RuntimeName[];
  /** Engines that answer. */
  readonly answering?: readonly RuntimeName[];
}

function choiceOn({ mode = 'auto', there = [], answering = there }: Machine) {
  const opened: string[] = [];
  const late = (name: RuntimeName): LateRuntime => ({
    name,
    isThere: () => name === 'simulated' || there.includes(name),
    open: async (wanted) => {
      opened.push(name);
      return wanted || answering.includes(name) ? new NamedRuntime(name) : undefined;
    },
  });
  const choice = new RuntimeChoice({
    mode,
    main: new NamedRuntime('process'),
    late: [late('docker'), late('cri'), late('simulated')],
    isMapped: async (image) => image === 'host' || image === 'mapped',
    handlerOf: async (name) => (name === 'secure' ? 'docker' : name),
    onError: (error) => {
      throw error;
    },
  });
  const runtimeOf = async (pod: Partial<Pod>) => (await choice.of({ metadata: {}, ...pod } as Pod)).name;
  return { choice, opened, runtimeOf };
}

const ofImages = (...images: string[]): Partial<Pod> => ({
  spec: { containers: images.map((image, i) => ({ name: `c${i}`, image, command: ['run'] })) },
});

describe('the runtime of a pod', () => {
  it('is chosen by its images where an engine answers', async () => {
    // Proves the rule of `auto`.
    const { runtimeOf } = choiceOn({ there: ['docker', 'cri'] });
    expect(await runtimeOf(ofImages('nginx'))).toBe('docker');
    expect(await runtimeOf(ofImages('host'))).toBe('process');
    expect(await runtimeOf(ofImages('mapped', '/usr/bin/node'))).toBe('process');
    expect(await runtimeOf(ofImages('host', 'nginx'))).toBe('docker');
  });

  it('is found at once, and no engine is loaded, where there is none', () => {
    // Proves that the feature costs nothing on a machine without engines.
    const { choice, opened } = choiceOn({});
    expect(choice.of({ metadata: {}, ...ofImages('nginx') } as Pod)).toMatchObject({ name: 'process' });
    expect(opened).toEqual([]);
  });

  it('is the next engine if one does not answer, and processes if none does', async () => {
    // Proves that a socket without a listener does not stop pods.
    expect(
      await choiceOn({ there: ['docker', 'cri'], answering: ['cri'] }).runtimeOf(ofImages('nginx')),
    ).toBe('cri');
    const none = choiceOn({ there: ['docker'], answering: [] });
    expect(await none.runtimeOf(ofImages('nginx'))).toBe('process');
    expect(await none.runtimeOf(ofImages('nginx'))).toBe('process');
    // Asked again: it may answer now.
    expect(none.opened).toEqual(['docker', 'docker']);
  });

  it('is the one its class names, whatever its images are', async () => {
    // Proves that a class wins, and that its handler counts, not its name.
    const { runtimeOf } = choiceOn({ there: ['docker'] });
    const withClass = (runtimeClassName: string) => {
      const pod = ofImages('host');
      return runtimeOf({ spec: { ...pod.spec, runtimeClassName } });
    };
    expect(await withClass('secure')).toBe('docker');
    expect(await withClass('simulated')).toBe('simulated');
    expect(await withClass('process')).toBe('process');
  });

  it('is a missing one for a class that the node does not have', async () => {
    // Proves that such a pod waits and says why, instead of running elsewhere.
    const { choice } = choiceOn({});
    const pod = { metadata: {}, spec: { runtimeClassName: 'gvisor' } } as Pod;
    const runtime = await choice.of(pod);
    await expect(runtime.preparePod(pod)).rejects.toThrow('no runtime for "gvisor" is configured');
  });

  it('is the one that has run it before', async () => {
    // Proves that a new agent looks for the containers of a pod where they are, even if the engine is down.
    const { runtimeOf } = choiceOn({ mode: 'process', there: ['docker'], answering: [] });
    const status = { containerStatuses: [{ name: 'c0', containerID: 'docker://abc' }] } as Pod['status'];
    expect(await runtimeOf({ ...ofImages('host'), status })).toBe('docker');
    expect(await runtimeOf(ofImages('nginx'))).toBe('process');
  });

  it('recovers with the others, or when it is opened later', async () => {
    // Proves that every runtime gets the pods of the node before it is used.
    const { choice } = choiceOn({ there: ['docker'] });
    await choice.recover(new Set(['u1']));
    const docker = (await choice.of({ metadata: {}, ...ofImages('nginx') } as Pod)) as NamedRuntime;
    expect([...docker.recovered!]).toEqual(['u1']);
    const simulated = (await choice.of({
      metadata: {},
      spec: { runtimeClassName: 'simulated' },
    } as Pod)) as NamedRuntime;
    expect([...simulated.recovered!]).toEqual(['u1']);
    expect(await choice.available()).toEqual(['process', 'docker', 'simulated']);
    await choice.close();
    expect([docker.closed, simulated.closed]).toEqual([true, true]);
  });
});

describe('the version that the node shows', () => {
  it.each<[RuntimeMode, string]>([
    ['auto', 'process://1.0.0'],
    ['process', 'process://1.0.0'],
    ['cri', 'containerd://2.1.4'],
    ['docker', 'docker://28.2.2'],
    ['simulated', 'simulated://1.0.0'],
  ])('is that of the runtime of all pods, with --runtime %s', async (mode, shown) => {
    expect(await choiceOn({ mode, there: ['docker', 'cri'] }).choice.shown()).toBe(shown);
  });
});
