/**
 * The identity of a node in its cluster: the authority it trusts, its client certificate, and the serving certificate
 * of its kubelet API. All are in a folder of the node; the token with which it joined is not kept.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { StatusError } from '../../api/errors/errors.ts';
import { nodesGroup, nodeUserPrefix } from '../../api/values/node-identity.ts';
import { Client } from '../../client/client.ts';
import { Authority, type Certified, makeAuthority, servingUsages } from '../../pki/authority.ts';
import { subjectOf } from '../../pki/certificate.ts';
import { readSubject } from '../../pki/distinguished-name.ts';
import type { KeyPair } from '../../pki/key-pair.ts';
import { agentNameOf } from '../../pki/node-certificates.ts';
import { certificatesIn, pem } from '../../pki/pem.ts';
import { PkiFolder, writePrivately } from '../../pki/pki-folder.ts';
import type { Agent } from '../agent/agent.ts';
import type { KubeletListening } from '../agent/kubelet-server.ts';
import { clientRequest, requestCertificate, servingRequest } from './certificate-request.ts';
import { discoverAuthority } from './cluster-discovery.ts';
import { JoinError } from './join-error.ts';
import { RotatingCertificate } from './rotating-certificate.ts';

const authorityFile = 'ca.crt';
const authorityBytesMax = 1024 * 1024;
/** Lifetime of the self-signed certificate that is used until the cluster has signed one. */
const selfSignedMs = 365 * 86_400_000;

interface JoinOptions {
  readonly token?: string | undefined;
  readonly caHash?: string | undefined;
  readonly caFile?: string | undefined;
}

export interface IdentityOptions extends JoinOptions {
  readonly server: string;
  readonly name: string;
  /** The folder of the node; keys are in `pki` below it. */
  readonly folder: string;
  readonly userAgent: string;
  readonly now: () => number;
  /** Called with messages for the operator: that an administrator has to approve, or which server the node trusts. */
  readonly tell: (message: string) => void;
  readonly onError: (error: Error) => void;
}

export class NodeIdentity {
  readonly client: Client;
  readonly #pki: PkiFolder;
  readonly #certificate: RotatingCertificate;
  readonly #abort: AbortController;
  #serving: RotatingCertificate | undefined;

  /** Joins the cluster, unless the node has done so before. Throws a `JoinError` with a sentence. */
  static async open(options: IdentityOptions): Promise<NodeIdentity> {
    const pki = new PkiFolder(path.join(options.folder, 'pki'));
    const abort = new AbortController();
    let asking: Client | undefined;
    let changed: (certified: Certified) => void = () => undefined;
    const certificate = new RotatingCertificate({
      folder: pki,
      name: 'kubelet-client',
      ask: (key) => askForClient(asking!, options, key, abort.signal),
      now: options.now,
      changed: (certified) => changed(certified),
      onError: options.onError,
    });
    checkName(certificate.current, options, pki);
    const known = readAuthority(path.join(pki.folder, authorityFile));
    if (certificate.current && known !== undefined) {
      const identity = new NodeIdentity(options, pki, known, certificate, abort);
      asking = identity.client;
      changed = (certified) => identity.client.useCertificate(certified);
      certificate.keep();
      return identity;
    }
    const ca = await trustedAuthority(options, certificate.hadEnded);
    writePrivately(path.join(pki.folder, authorityFile), ca);
    asking = new Client(options.server, { ca, token: options.token!, userAgent: options.userAgent });
    try {
      await certificate.first();
    } finally {
      asking.close();
    }
    const identity = new NodeIdentity(options, pki, ca, certificate, abort);
    asking = identity.client;
    changed = (certified) => identity.client.useCertificate(certified);
    certificate.keep();
    return identity;
  }

  private constructor(
    private readonly options: IdentityOptions,
    pki: PkiFolder,
    ca: string,
    certificate: RotatingCertificate,
    abort: AbortController,
  ) {
    this.#pki = pki;
    this.#certificate = certificate;
    this.#abort = abort;
    const { server, userAgent } = options;
    this.client = new Client(server, { ca, ...certificate.current!, userAgent });
    writeKubeconfig(pki, server, certificate.file, options.name);
  }

  /**
   * Listening options of the kubelet API, with the certificate of the cluster, or a self-signed one until there is one.
   */
  listening(host: string, port: number): KubeletListening {
    const { name, now } = this.options;
    this.#serving = new RotatingCertificate({
      folder: this.#pki,
      name: 'kubelet-server',
      ask: (key) => this.#askForServing(key),
      now,
      changed: () => this.#showServing(),
      onError: this.options.onError,
    });
    const stored = this.#serving.current;
    const ca = stored && authorityOf(stored);
    if (stored && ca !== undefined) return { host, port, tls: { ...stored, ca } };
    this.#serving.forget();
    const own = makeAuthority(`${name}-self-signed`, now());
    const issue = {
      subject: subject(name),
      usages: servingUsages,
      hosts: [name, host],
      lifeMs: selfSignedMs,
    };
    // No client has a certificate of this authority: the API server is let in once the cluster has signed one.
    return { host, port, tls: { ...new Authority(own).issue(issue, now()), ca: own.cert } };
  }

  #agent: Agent | undefined;

  /** Keeps the certificate of the kubelet API signed from now on. The node must be registered, with its addresses. */
  keepServing(agent: Agent): void {
    this.#agent = agent;
    this.#serving?.keep();
  }

  close(): void {
    this.#abort.abort();
    this.#certificate.close();
    this.#serving?.close();
    this.client.close();
  }

  #showServing(): void {
    const current = this.#serving?.current;
    const ca = current && authorityOf(current);
    if (current && ca !== undefined) this.#agent?.useServingCertificate({ ...current, ca });
  }

  /**
   * Requests a serving certificate for the agent's own name only: the API server knows the agent by it, and other names
   * might belong to others, too.
   */
  async #askForServing(key: KeyPair): Promise<string> {
    const { name, tell } = this.options;
    const cert = await requestCertificate(this.client, {
      kind: servingRequest,
      key,
      subject: subject(name),
      hosts: [agentNameOf(name)],
      signal: this.#abort.signal,
      onWaiting: (request) =>
        tell(
          `waiting for the certificate of the kubelet API; approve it by: kubectl certificate approve ${request}`,
        ),
    });
    if (authorityOf({ cert }) === undefined)
      throw new JoinError(
        `${this.options.server} signs certificates of agents as version 0.2.0 did; bring it to the version of this node`,
      );
    return cert;
  }
}

/**
 * The authority that comes with the agent's certificate; it also signs the certificate the API server shows to agents.
 */
function authorityOf({ cert }: Pick<Certified, 'cert'>): string | undefined {
  const [, authority] = certificatesIn(cert);
  return authority && pem('CERTIFICATE', authority);
}

const subject = (name: string) => ({ commonName: `${nodeUserPrefix}${name}`, organizations: [nodesGroup] });

async function askForClient(
  client: Client,
  { server, name, tell }: IdentityOptions,
  key: KeyPair,
  signal: AbortSignal,
): Promise<string> {
  const onWaiting = (request: string): void =>
    tell(`waiting for a certificate; approve it by: kubectl certificate approve ${request}`);
  try {
    return await requestCertificate(client, {
      kind: clientRequest,
      key,
      subject: subject(name),
      signal,
      onWaiting,
    });
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const why =
      error.code === 401
        ? `${server} does not accept the token or certificate of this node: it is wrong, or has expired`
        : `${server} does not sign a certificate for this node: ${error.message}`;
    throw new JoinError(why, { cause: error });
  }
}

async function trustedAuthority(options: IdentityOptions, ended: boolean): Promise<string> {
  const { server, name, token, caHash, caFile, tell } = options;
  if (token === undefined)
    throw new JoinError(
      ended
        ? `the certificate of node ${name} has ended; start it once with the command that wherry token create prints`
        : `node ${name} does not belong to a cluster yet; start it with the command that wherry token create prints on the server`,
    );
  if (caFile !== undefined) {
    const ca = readAuthority(caFile);
    if (ca === undefined) throw new JoinError(`there is no file ${caFile}`);
    return ca;
  }
  if (caHash === undefined)
    tell(
      'without --ca-hash everybody who has the token can pretend to be the server; --ca-hash shuts them out',
    );
  return discoverAuthority({ server, token, caHash });
}

function readAuthority(file: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new JoinError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`, {
      cause: error,
    });
  }
  if (text.length > authorityBytesMax || certificatesIn(text).length === 0)
    throw new JoinError(`there is no certificate in ${file}`);
  return text;
}

function checkName(current: Certified | undefined, { name }: IdentityOptions, { folder }: PkiFolder): void {
  if (!current) return;
  const { commonName } = readSubject(subjectOf(certificatesIn(current.cert)[0]!));
  if (commonName !== `${nodeUserPrefix}${name}`)
    throw new JoinError(
      `the certificate in ${folder} is that of ${commonName}; start the node under that name, or with another data folder`,
    );
}

/** Writes a kubeconfig for people and tools on the machine: kubectl can do with it what the node may do. */
function writeKubeconfig({ folder }: PkiFolder, server: string, certificateFile: string, name: string): void {
  const user = `${nodeUserPrefix}${name}`;
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'wherry', cluster: { server, 'certificate-authority': path.join(folder, authorityFile) } },
    ],
    users: [{ name: user, user: { 'client-certificate': certificateFile, 'client-key': certificateFile } }],
    contexts: [{ name: 'wherry', context: { cluster: 'wherry', user } }],
    'current-context': 'wherry',
  };
  writePrivately(path.join(folder, '..', 'kubeconfig'), `${JSON.stringify(config, null, 2)}\n`);
}
