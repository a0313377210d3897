/** Connections to the servers of remote versions: TLS to a pod of their service, with the certificate of this server. */
import type { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext } from 'node:tls';
import { composedKey } from '../../composed-key.ts';
import type { Certified } from '../../pki/authority.ts';
import { connectTrusted } from '../../pki/trusted-tls.ts';
import { TurnQueue } from '../../turn-queue.ts';
import { bundleTrust } from '../calls/ca-bundle.ts';
import { callError } from '../calls/call-error.ts';
import type { ServiceDial } from '../calls/hook-client.ts';
import type { RemoteVersion } from './api-services.ts';

const handshakeMs = 10_000;
/** Certificates of servers, each with that of this server, that are kept as OpenSSL has read them: that takes it long. */
const contextsMax = 64;
const contexts = new Map<string, SecureContext>();
/**
 * Steps that begin in one turn of the event loop, each of which takes a millisecond or two: the dial through the cluster,
 * and the handshake. All servers are looked at every half a minute, and when their endpoints change.
 */
const steps = new TurnQueue(2);

export const remoteHost = ({ service }: RemoteVersion): string => `${service.name}.${service.namespace}.svc`;

/** Connects; rejects with an error in Go's words. */
export async function connectRemote(
  remote: RemoteVersion,
  dial: ServiceDial,
  client: Certified | undefined,
): Promise<Duplex> {
  const { service, caBundle, insecure } = remote;
  await steps.next();
  const socket = await dial(service.namespace, service.name, service.port);
  await steps.next();
  const servername = remoteHost(remote);
  return new Promise((resolve, reject) => {
    const secure = connectTrusted({
      socket,
      servername,
      rejectUnauthorized: !insecure,
      ALPNProtocols: ['http/1.1'],
      ...bundleTrust(caBundle),
      secureContext: contextOf(caBundle, client),
    });
    const fail = (error: Error): void => {
      clearTimeout(timer);
      secure.destroy();
      socket.destroy();
      reject(error);
    };
    const timer = setTimeout(() => fail(new Error('net/http: TLS handshake timeout')), handshakeMs);
    const failed = (error: Error): void => fail(callError(error, servername));
    socket.once('error', failed);
    secure.once('error', failed).once('secureConnect', () => {
      if (secure.destroyed) return;
      clearTimeout(timer);
      secure.off('error', failed);
      secure.once('close', () => socket.destroy());
      resolve(secure);
    });
  });
}

export function contextOf(caBundle: string, client: Certified | undefined): SecureContext {
  const key = composedKey(caBundle, client?.cert ?? '', client?.key ?? '');
  const context =
    contexts.get(key) ??
    createSecureContext({
      ...bundleTrust(caBundle),
      ...(client ? { cert: client.cert, key: client.key } : {}),
      allowPartialTrustChain: true,
    });
  contexts.delete(key);
  contexts.set(key, context);
  if (contexts.size > contextsMax) contexts.delete(contexts.keys().next().value!);
  return context;
}
