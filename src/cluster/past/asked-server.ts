/** The running server that questions, and imports, go to, and how it is reached. */
import type { IncomingMessage } from 'node:http';
import { StatusError } from '../../api/errors/errors.ts';
import { refusal } from '../../client/refusal.ts';
import { KubeconfigError, readKubeconfig, type SourceAccess } from '../../recorder/source/kubeconfig.ts';
import { administeredCluster } from '../access/bootstrap-tokens.ts';
import { chooseCluster, knownCluster } from '../named/cluster-choice.ts';
import type { ClusterRecord } from '../named/cluster-record.ts';
import { notRunning, runningProcess } from '../named/cluster-state.ts';
import { StartError } from '../shared/start-error.ts';

const answerBytesMax = 1024 * 1024 * 1024;
const silenceMaxMs = 60_000;
const usualUrl = 'http://127.0.0.1:8080';

/** How a command line names a server. */
export interface ServerChoice {
  readonly server?: string | undefined;
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** A cluster of this user. */
  readonly name?: string | undefined;
}

export class AskedServer {
  readonly #access: SourceAccess;

  constructor(choice: ServerChoice) {
    this.#access = accessOf(choice);
  }

  get url(): string {
    return this.#access.url;
  }

  /** The parsed answer; a refusal is thrown as a StartError with the server's sentence. */
  get(path: string, accept = 'application/json'): Promise<unknown> {
    return this.#ask(path, accept);
  }

  /** Sends JSON. */
  post(path: string, body: Buffer): Promise<unknown> {
    return this.#ask(path, 'application/json', body);
  }

  async #ask(path: string, accept: string, body?: Buffer): Promise<unknown> {
    try {
      return JSON.parse((await this.#send(path, accept, body)).toString('utf8'));
    } catch (error) {
      if (error instanceof StatusError) throw new StartError(this.#told(path, error), { cause: error });
      if (error instanceof KubeconfigError) throw new StartError(error.message);
      const { code, message } = error as NodeJS.ErrnoException;
      const why = code === 'ECONNREFUSED' ? 'no server is running there' : (code ?? message);
      throw new StartError(`${this.url} cannot be reached: ${why}; wherry list shows clusters`, {
        cause: error,
      });
    }
  }

  #told(path: string, { code, message }: StatusError): string {
    const isUnknown = code === 404 && path.startsWith('/wherry/') && !message.startsWith('there is no');
    if (!isUnknown) return message;
    if (path.startsWith('/wherry/problems')) return `${this.url} tells no problems: ${code} ${message}`;
    return path === '/wherry/import'
      ? `${this.url} takes no objects: it is no Wherry, an old one, or shows a copy`
      : `${this.url} keeps no history to ask for: it is no Wherry, or an old one`;
  }

  async #send(path: string, accept: string, sentBody: Buffer | undefined): Promise<Buffer> {
    const { url, ca, insecure, serverName } = this.#access;
    const { authorization, cert, key } = await this.#access.credential();
    const { protocol, pathname } = new URL(url);
    const isSecure = protocol === 'https:';
    const { request } = isSecure ? await import('node:https') : await import('node:http');
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(new URL(pathname.replace(/\/$/, '') + path, url), {
        agent: false,
        method: sentBody ? 'POST' : 'GET',
        headers: {
          Accept: accept,
          'User-Agent': 'wherry',
          ...(authorization ? { Authorization: authorization } : {}),
          ...(sentBody ? { 'Content-Type': 'application/json', 'Content-Length': sentBody.length } : {}),
        },
        ...(isSecure ? { ca, cert, key, rejectUnauthorized: !insecure } : {}),
        ...(isSecure && serverName ? { servername: serverName } : {}),
      });
      sent.setTimeout(silenceMaxMs, () => sent.destroy(new Error('it does not answer')));
      sent.on('response', resolve).on('error', reject).end(sentBody);
    });
    const body = await bodyOf(answer);
    if (answer.statusCode! >= 300) throw refusal(answer.statusCode!, body.toString('utf8'));
    return body;
  }
}

function accessOf({ server, kubeconfig, context, name }: ServerChoice): SourceAccess {
  if (server !== undefined) return plainAccess(server);
  if (kubeconfig !== undefined || context !== undefined)
    try {
      return readKubeconfig(kubeconfig, context);
    } catch (error) {
      if (error instanceof KubeconfigError) throw new StartError(error.message);
      throw error;
    }
  if (name === undefined) {
    const { record } = chooseCluster({ name, dataDir: undefined });
    return record && runningProcess(record) !== undefined ? recordAccess(record) : plainAccess(usualUrl);
  }
  const record = knownCluster(name);
  if (runningProcess(record) === undefined) throw notRunning(record);
  return recordAccess(record);
}

const plainAccess = (url: string): SourceAccess => ({ url, credential: async () => ({}) });

/** Without the local door, as the administrator whom the data folder knows. */
function recordAccess({ url = usualUrl, dataDir }: ClusterRecord): SourceAccess {
  if (!url.startsWith('https:') || dataDir === undefined) return plainAccess(url);
  const { ca, cert, key } = administeredCluster(dataDir);
  return { url, ca, credential: async () => ({ cert, key }) };
}

async function bodyOf(answer: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > answerBytesMax) throw new Error(`an answer of more than ${answerBytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
