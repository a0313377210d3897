/** Asks the server of a remote version which resources it has, to see whether it answers; and reads its answer. */
import { request as openRequest } from 'node:http';
import type { Duplex } from 'node:stream';
import { JsonError } from '../../api/text/json.ts';
import { isJsonObject, type JsonObject } from '../../api/text/object.ts';
import { masters } from '../../api/values/user.ts';
import { boundInterim } from '../../interim-answers.ts';
import { Pieces } from '../../pieces.ts';
import { readSentJson } from '../../registry/sliced-json.ts';
import { readError } from '../../streams/dial/net-error.ts';
import type { RemoteVersion } from './api-services.ts';
import { remoteHost } from './remote-connection.ts';

const timeoutMs = 5_000;
const answerBytesMax = 3 * 1024 * 1024;

export async function checkDiscovery(
  remote: RemoteVersion,
  connect: (remote: RemoteVersion) => Promise<Duplex>,
): Promise<Buffer> {
  const path = `/apis/${remote.apiVersion}`;
  const url = `https://${remoteHost(remote)}:${remote.service.port}${path}`;
  const get = `Get ${JSON.stringify(url)}`;
  let timer: NodeJS.Timeout | undefined;
  let connection: Duplex | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('context deadline exceeded')), timeoutMs);
  });
  try {
    const opening = connect(remote);
    opening.then(
      (opened) => {
        connection = opened;
        opened.on('error', () => undefined);
      },
      () => undefined,
    );
    return await Promise.race([opening.then((opened) => asked(opened, path, remoteHost(remote), url)), late]);
  } catch (error) {
    const { message } = error as Error;
    throw new Error(error instanceof BadStatus ? message : `${get}: ${message}`);
  } finally {
    clearTimeout(timer);
    connection?.destroy();
  }
}

class BadStatus extends Error {}

function asked(connection: Duplex, path: string, host: string, url: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const sent = openRequest({
      createConnection: () => connection,
      method: 'GET',
      path,
      headers: {
        Host: host,
        Accept: 'application/json',
        'X-Remote-User': 'system:kube-aggregator',
        'X-Remote-Group': masters,
      },
    });
    boundInterim(sent);
    sent.on('error', (error) => reject(new Error(readError(error))));
    sent.on('response', (response) => {
      const pieces = new Pieces();
      response.on('data', (chunk: Buffer) => {
        if (pieces.add(chunk) > answerBytesMax) sent.destroy(new Error('the answer is too large'));
      });
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode = 0 } = response;
        if (statusCode < 200 || statusCode > 299)
          return reject(new BadStatus(`bad status from ${url}: ${statusCode}`));
        resolve(pieces.whole());
      });
    });
    sent.end();
  });
}

/** The body as JSON; an empty object otherwise: a server that answers is available, whatever it answers. */
export async function documentIn(bytes: Buffer): Promise<JsonObject> {
  try {
    const { value } = await readSentJson(bytes);
    return isJsonObject(value) ? value : {};
  } catch (error) {
    if (error instanceof JsonError) return {};
    throw error;
  }
}
