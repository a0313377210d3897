/** Settings that kube-apiserver has as flags and few clusters change, and the files that they name. */
import { readTextFile } from '../../access/shared/text-file.ts';
import type { Certified } from '../../pki/authority.ts';
import type { NodeTrust } from '../../pki/node-certificates.ts';
import type { ReportedVersion } from '../../server/discovery/version.ts';
import { type ServingRuleOptions, servingRulesProblem } from '../../server/http/serving-rules.ts';
import { StartError } from '../shared/start-error.ts';

/** Settings of the API server. */
export interface ServerSettings extends ServingRuleOptions, ReportedVersion {
  /** Watches that name no end last from this long to twice as long, in seconds. Default 1,800. */
  readonly watchSecondsMin?: number;
  /** Whether a watch may begin with the state and a bookmark (`sendInitialEvents`). Default true. */
  readonly watchLists?: boolean;
  /** How long pods stay on a node that is not ready, in seconds. Default 300. */
  readonly notReadyTolerationSeconds?: number;
  /** The same for a node that is unreachable. Default 300. */
  readonly unreachableTolerationSeconds?: number;
  /** Port of the service `kubernetes` on every node. Default: none. */
  readonly kubernetesNodePort?: number;
  /** Whether the endpoints of the service `kubernetes` are written. Default true. */
  readonly kubernetesEndpoints?: boolean;
  /** How long requests are still served after `close()`, while `/readyz` fails. Default 0. */
  readonly shutdownDelayMs?: number;
  /** How the server reaches agents of nodes on other machines. */
  readonly kubelet?: KubeletSettings;
  /** What the server shows to aggregated API servers. Default: a certificate of the cluster's authority for front proxies. */
  readonly proxyClient?: CertificateFiles;
}

export interface KubeletSettings {
  /** PEM file of the authorities that sign certificates of agents. Default: the cluster's own for nodes. */
  readonly caFile?: string;
  /** What the server shows to agents. Default: a certificate of the cluster's authority for nodes. */
  readonly client?: CertificateFiles;
  /** Types of node addresses, in order of preference. */
  readonly addressTypes?: readonly string[];
  /** How long it may take to connect to an agent. Default: 10 seconds for TCP, and as long for the TLS handshake. */
  readonly timeoutMs?: number;
}

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** What the files of the settings hold. */
export interface ReadSettings {
  /** Replaces the parts of how agents are trusted that the settings name. */
  nodeTrust(usual: () => Promise<NodeTrust>): () => Promise<NodeTrust>;
  readonly proxyClient: Certified | undefined;
}

/** Rejects with a `StartError` when a value makes no sense or a file cannot be read. */
export async function readServerSettings(settings: ServerSettings): Promise<ReadSettings> {
  const problem = servingRulesProblem(settings);
  if (problem) throw new StartError(problem);
  const { kubelet = {}, proxyClient } = settings;
  const [ca, client, proxy] = await Promise.all([
    kubelet.caFile === undefined ? undefined : readTextFile(kubelet.caFile, 'certificate file'),
    readCertificate(kubelet.client),
    readCertificate(proxyClient),
  ]).catch((error: Error) => {
    throw new StartError(error.message, { cause: error });
  });
  return {
    proxyClient: proxy,
    nodeTrust: (usual) => async () => {
      if (ca !== undefined && client) return { ca, client };
      const trust = await usual();
      if (ca !== undefined) return { ca, client: trust.client };
      return client ? { ...trust, client } : trust;
    },
  };
}

async function readCertificate(files: CertificateFiles | undefined): Promise<Certified | undefined> {
  if (!files) return undefined;
  const [cert, key] = await Promise.all([
    readTextFile(files.certFile, 'certificate file'),
    readTextFile(files.keyFile, 'key file'),
  ]);
  return { cert, key };
}
