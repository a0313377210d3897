/** Checks of programs around Wherry: Node, ports and folder, kubectl, and container engines. */
import { type Check, type Finding, ok } from './finding.ts';
import type { EngineAnswer } from './probe.ts';

const nodeNeeded = [20, 19] as const;
const usualSecurePort = 6443;
/** The oldest minor version of kubectl that is not warned about: older ones do not know newer kinds. */
const kubectlMinorMin = 30;

const node: Check = {
  subject: 'Node',
  async look({ nodeVersion }) {
    const [major = 0, minor = 0] = nodeVersion.replace(/^v/, '').split('.').map(Number);
    const [wanted, wantedMinor] = nodeNeeded;
    if (major > wanted || (major === wanted && minor >= wantedMinor)) return ok(nodeVersion);
    return {
      state: 'error',
      says: `${nodeVersion} is too old`,
      means: `Wherry needs ${nodeNeeded.join('.')} or newer`,
      remedy: 'install a newer one from nodejs.org, or by nvm, fnm or your package manager',
    };
  },
};

const folder: Check = {
  subject: 'data folder',
  async look(probe, { dataDir }) {
    const owner = await probe.ownerOf(dataDir);
    if (owner !== undefined) return ok(`${dataDir} is in use by process ${owner}`);
    if (await probe.isWritable(dataDir)) return ok(`${dataDir} can be written`);
    return {
      state: 'error',
      says: `${dataDir} cannot be written by this user`,
      means: 'objects, pods and logs are kept there',
      remedy: 'name another by --data-dir, keep objects in memory by --in-memory, or change its owner',
    };
  },
};

const ports: Check = {
  subject: 'ports',
  async look(probe, { dataDir, port, isPortOpen = false, securePort: kept }) {
    const securePort = kept ?? usualSecurePort;
    const [local, secure] = await Promise.all([probe.portProblem(port), probe.portProblem(securePort)]);
    if (local === undefined && secure === undefined) return ok(`${port} and ${securePort} are free`);
    if ((await probe.ownerOf(dataDir)) !== undefined)
      return ok(`${local ?? secure}, while the cluster of ${dataDir} runs`);
    if (local !== undefined && isPortOpen)
      return {
        state: 'note',
        says: local,
        means: 'wherry up takes the next free port, and prints it; wherry serve needs --port',
        remedy: 'nothing needs to be done; kubectl finds the cluster by its context',
      };
    if (local !== undefined)
      return {
        state: 'error',
        says: local,
        means: 'wherry up listens there for plain HTTP unless --port names another',
        remedy: 'end what listens there, or take another port: wherry up --port 0 takes any free one',
      };
    if (kept !== undefined)
      return {
        state: 'error',
        says: secure!,
        means: 'the cluster listened there for HTTPS before, and keeps its port',
        remedy: 'end what listens there, or take another port: wherry up --secure-port 0 takes any free one',
      };
    return {
      state: 'note',
      says: secure!,
      means: 'HTTPS gets another port, which the start prints',
      remedy: 'nothing needs to be done; --secure-port names a port that stays the same',
    };
  },
};

const kubectl: Check = {
  subject: 'kubectl',
  async look(probe) {
    const text = await probe.run('kubectl', 'version', '--client', '-o', 'json');
    if (text === undefined)
      return {
        state: 'note',
        says: 'is not installed, or not on the PATH',
        means: 'the pages of this documentation use it; the API, the dashboard and libraries do without',
        remedy: 'https://kubernetes.io/docs/tasks/tools/ says how to install it',
      };
    const version = /"gitVersion":\s*"([^"]+)"/.exec(text)?.[1] ?? 'of an unknown version';
    const minor = Number(/^v1\.(\d+)/.exec(version)?.[1] ?? kubectlMinorMin);
    if (minor >= kubectlMinorMin) return ok(version);
    return {
      state: 'note',
      says: `${version} is old`,
      means: 'it works, but does not know newer kinds and options',
      remedy: 'install a newer one when something is missing',
    };
  },
};

const context: Check = {
  subject: 'context of kubectl',
  async look(probe, { port }) {
    const name = (await probe.run('kubectl', 'config', 'current-context'))?.trim();
    if (!name) return ok(`none is set: kubectl looks at localhost:8080 by itself`);
    if (name.startsWith('wherry')) return ok(name);
    return {
      state: 'note',
      says: `kubectl talks to the context ${JSON.stringify(name)}`,
      means: 'commands without -s or --context go to that cluster, not to Wherry',
      remedy: `say kubectl -s 127.0.0.1:${port} …, or choose a context by kubectl config use-context`,
    };
  },
};

const engines: Check = {
  subject: 'container engines',
  async look(probe) {
    const found = await probe.engines();
    const answering = found.filter(({ name }) => name !== undefined);
    if (answering.length) return ok(answering.map(({ name, socket }) => `${name} at ${socket}`).join(', '));
    const [first] = found;
    return first ? silentEngine(first) : noEngine;
  },
};

const noEngine: Finding = {
  state: 'note',
  says: 'there is none where Docker, Podman, containerd and CRI-O have their sockets',
  means: 'images do not run as containers: pods are processes of this machine, or pretend to run',
  remedy: 'start an engine, or name its socket by --docker-socket or --cri-socket',
};

const silentEngine = ({ socket, isForbidden }: EngineAnswer): Finding => ({
  state: 'warning',
  says: isForbidden ? `${socket} may not be used by this user` : `nothing answers at ${socket}`,
  means: 'images do not run as containers',
  remedy: isForbidden
    ? 'join the group of the socket (sudo usermod -aG docker $USER, then log in again), or run as root'
    : 'start the engine, for example by systemctl start docker, or remove the socket that it left',
});

export const programChecks: readonly Check[] = [node, folder, ports, kubectl, context, engines];
