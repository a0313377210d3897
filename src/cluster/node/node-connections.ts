/**
 * Connections to nodes: in memory to agents of this process, over TLS to all others. Users write the address
 * of a node into its object, so it is checked before it is dialled; and the server there must have a
 * certificate of the authority for nodes, for this node, before it gets a request.
 */
import { BlockList, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { checkServerIdentity as CheckServerIdentity, PeerCertificate, TLSSocket } from 'node:tls';
import { nodeUserPrefix } from '../../api/values/node-identity.ts';
import { agentNameOf, type NodeTrust } from '../../pki/node-certificates.ts';
import type { OwnDoors } from '../../server/http/own-doors.ts';
import { dialTcp } from '../../streams/dial/dialing.ts';
import { readError, systemCode } from '../../streams/dial/net-error.ts';
import type { NodeConnector, NodeLocation } from '../../streams/dial/node-connector.ts';
import { allowedAddresses, isAllowedTarget, systemLookup } from '../../streams/dial/target-address.ts';

/** Default timeout of the TLS handshake. */
const handshakeMs = 10_000;

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

const isLoopback = (address: string): boolean =>
  isIP(address) !== 0 && loopback.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

export class NodeConnections implements NodeConnector {
  readonly #local = new Map<string, () => Duplex>();

  constructor(
    private readonly authority: () => Promise<NodeTrust>,
    /** How long all steps of a connection may take together. Default: each has a time of its own. */
    private readonly timeoutMs?: number,
    /** Where this server itself listens, which is never dialled. */
    private readonly ownDoors?: OwnDoors,
  ) {}

  /** Registers an agent of this process. `connect` opens a connection to it. */
  addLocal(name: string, connect: () => Duplex): void {
    this.#local.set(name, connect);
  }

  removeLocal(name: string): void {
    this.#local.delete(name);
  }

  /** Names of the nodes whose agents are in this process. */
  get localNames(): string[] {
    return [...this.#local.keys()];
  }

  isLocal(name: string): boolean {
    return this.#local.has(name);
  }

  async connect(node: NodeLocation, { insecure = false } = {}): Promise<Duplex> {
    const local = this.#local.get(node.name);
    if (local) return local();
    const { timeoutMs } = this;
    const begunMs = performance.now();
    const leftMs =
      timeoutMs === undefined ? undefined : () => Math.max(1, timeoutMs - (performance.now() - begunMs));
    // Loopback is allowed here: agents on the server's machine are verified by their certificate, always.
    const isAllowed = (address: string) => isLoopback(address) || isAllowedTarget(address);
    const addresses = await allowedAddresses(node.host, systemLookup, isAllowed);
    this.ownDoors?.refuse(addresses, node.port);
    const socket = await dialTcp(addresses, node.port, leftMs);
    socket.on('error', () => socket.destroy());
    const authority = await this.authority().catch((error: unknown) => {
      socket.destroy();
      throw error;
    });
    const verify = !insecure || addresses.some(isLoopback);
    return handshake(socket, node, authority, verify, leftMs?.() ?? handshakeMs);
  }
}

async function handshake(
  socket: Socket,
  node: NodeLocation,
  { ca, client, namesNodes }: NodeTrust,
  verify: boolean,
  timeoutMs: number,
): Promise<TLSSocket> {
  // Load TLS with the first remote node: most clusters have none.
  const { checkServerIdentity, connect: secure } = await import('node:tls');
  const { host } = node;
  return new Promise((resolve, reject) => {
    const tls = secure({
      socket,
      ca,
      cert: client.cert,
      key: client.key,
      minVersion: 'TLSv1.2',
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: verify,
      ...(isIP(host) ? {} : { servername: host }),
      // The socket was dialled by address; the certificate must match the node, or its own host.
      checkServerIdentity: (_name, certificate) =>
        namesNodes === true
          ? nodeProblem(checkServerIdentity, node, certificate)
          : checkServerIdentity(host, certificate),
    });
    const settle = (act: () => void): void => {
      tls.off('secureConnect', onSecure).off('error', onError).off('close', onClose);
      clearTimeout(timer);
      tls.on('error', () => tls.destroy());
      act();
    };
    const fail = (text: string): void => {
      settle(() => reject(new Error(text)));
      tls.destroy();
      socket.destroy();
    };
    const onSecure = (): void => settle(() => resolve(tls));
    const onError = (error: Error): void => fail(tlsWords(error, host));
    const onClose = (): void => fail('EOF');
    const timer = setTimeout(() => fail('net/http: TLS handshake timeout'), timeoutMs);
    tls.on('secureConnect', onSecure).on('error', onError).on('close', onClose);
  });
}

/**
 * Why a certificate of the authority for nodes does not belong to a node; undefined when it does. It does if it has a
 * name that only this node has. An address does not count: a node reports its own, and could report that of another; so
 * a certificate that names another node in its subject is refused.
 */
function nodeProblem(
  check: typeof CheckServerIdentity,
  { name, host }: NodeLocation,
  certificate: PeerCertificate,
): Error | undefined {
  const isOwn = [agentNameOf(name), name].some((own) => !isIP(own) && !check(own, certificate));
  const problem = isOwn ? undefined : check(host, certificate);
  if (problem) return problem;
  const [commonName] = [certificate.subject.CN].flat();
  const named = commonName?.startsWith(nodeUserPrefix) ? commonName.slice(nodeUserPrefix.length) : undefined;
  return named === undefined || named === name || named === host
    ? undefined
    : new Error(`tls: failed to verify certificate: x509: certificate is that of node ${named}, not ${name}`);
}

const untrusted = 'tls: failed to verify certificate: x509: certificate signed by unknown authority';

const tlsFailures: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'tls: failed to verify certificate: x509: certificate has expired or is not yet valid',
  CERT_NOT_YET_VALID: 'tls: failed to verify certificate: x509: certificate has expired or is not yet valid',
  CERT_SIGNATURE_FAILURE: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  INVALID_PURPOSE: 'tls: failed to verify certificate: x509: certificate specifies an incompatible key usage',
  ERR_SSL_WRONG_VERSION_NUMBER: 'tls: first record does not look like a TLS handshake',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'tls: first record does not look like a TLS handshake',
};

function tlsWords(
  error: NodeJS.ErrnoException & { cert?: { subjectaltname?: string } },
  host: string,
): string {
  const code = systemCode(error);
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = (error.cert?.subjectaltname ?? '').replace(/(DNS|IP Address):/g, '');
    return `tls: failed to verify certificate: x509: certificate is valid for ${names}, not ${host}`;
  }
  if (code === 'ECONNRESET') return 'EOF';
  return tlsFailures[code] ?? readError(error);
}
