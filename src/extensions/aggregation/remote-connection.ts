/** Connections to the servers of remote versions: TLS to a pod of their service, with the certificate of this server. */
import type { Duplex } from 'node:stream';
import type { Certified } from '../../pki/authority.ts';
import { connectTrusted } from '../../pki/trusted-tls.ts';
import { bundleTrust } from '../calls/ca-bundle.ts';
import { callError } from '../calls/call-error.ts';
import type { ServiceDial } from '../calls/hook-client.ts';
import type { RemoteVersion } from './api-services.ts';

const handshakeMs = 10_000;

export const remoteHost = ({ service }: RemoteVersion): string => `${service.name}.${service.namespace}.svc`;

/** Connects; rejects with an error in Go's words. */
export async function connectRemote(
  remote: RemoteVersion,
  dial: ServiceDial,
  client: Certified | undefined,
): Promise<Duplex> {
  const { service, caBundle, insecure } = remote;
  const socket = await dial(service.namespace, service.name, service.port);
  const servername = remoteHost(remote);
  return new Promise((resolve, reject) => {
    const secure = connectTrusted({
      socket,
      servername,
      rejectUnauthorized: !insecure,
      ALPNProtocols: ['http/1.1'],
      ...bundleTrust(caBundle),
      ...(client ? { cert: client.cert, key: client.key } : {}),
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
