/**
 * How a joining machine comes to trust a cluster. It reads the address and the certificate authority of the cluster
 * from a public document. It trusts the document because it is signed with the token the machine was given, and, if a
 * hash was given, because the authority in it has that hash.
 */
import { createHash, createHmac, timingSafeEqual, X509Certificate } from 'node:crypto';
import { request } from 'node:https';
import { readYaml } from '../../api/text/yaml.ts';
import { readBootstrapToken } from '../../api/values/bootstrap-token.ts';
import { Pieces } from '../../pieces.ts';
import { publicDer } from '../../pki/key-pair.ts';
import { certificatesIn } from '../../pki/pem.ts';
import { TrustedAgent } from '../../pki/trusted-tls.ts';
import { JoinError } from './join-error.ts';

const documentPath = '/api/v1/namespaces/kube-public/configmaps/cluster-info';
const documentBytesMax = 1024 * 1024;
const answerMaxMs = 15_000;

export interface Discovery {
  readonly server: string;
  readonly token: string;
  /** `sha256:<hex>` of the authority's public key; absent: the signature with the token is enough. */
  readonly caHash?: string | undefined;
}

/** The authority of the cluster, in PEM. Throws a `JoinError` with a sentence. */
export async function discoverAuthority({ server, token, caHash }: Discovery): Promise<string> {
  const halves = readBootstrapToken(token);
  if (!halves) throw new JoinError('the token must look like abcdef.0123456789abcdef');
  const data = await clusterInfo(server, undefined);
  const kubeconfig = data['kubeconfig'] ?? '';
  const signature = data[`jws-kubeconfig-${halves.id}`];
  if (signature === undefined)
    throw new JoinError(
      `${server} does not know the token ${halves.id}, or it has expired; wherry token create makes another`,
    );
  if (!isSigned(kubeconfig, signature, halves))
    throw new JoinError(
      `what ${server} says of its cluster is not signed with this token: the token is wrong, or this is another cluster`,
    );
  const authority = authorityIn(kubeconfig);
  if (authority === undefined) throw new JoinError(`what ${server} says of its cluster names no authority`);
  if (caHash !== undefined && !certificatesIn(authority).some((der) => hashOf(der) === caHash.toLowerCase()))
    throw new JoinError(
      `the authority of ${server} has the hash ${hashOf(certificatesIn(authority)[0]!)}, not the one that --ca-hash says: this is not the cluster the command was made for`,
    );
  // Read again over a verified connection: the server must have a certificate of this authority.
  const again = await clusterInfo(server, authority);
  if (again['kubeconfig'] !== kubeconfig)
    throw new JoinError(`${server} says something else of its cluster over a verified connection`);
  return authority;
}

/** `sha256:<hex>` of the public key of a certificate. */
function hashOf(der: Buffer): string {
  const key = publicDer(new X509Certificate(der).publicKey);
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}

function isSigned(
  content: string,
  signature: string,
  { id, secret }: { id: string; secret: string },
): boolean {
  const [header = '', between, sent = '', ...rest] = signature.split('.');
  if (between !== '' || rest.length) return false;
  try {
    const { alg, kid } = JSON.parse(Buffer.from(header, 'base64url').toString('utf8')) as {
      alg?: unknown;
      kid?: unknown;
    };
    if (alg !== 'HS256' || kid !== id) return false;
  } catch {
    return false;
  }
  const input = `${header}.${Buffer.from(content).toString('base64url')}`;
  const wanted = createHmac('sha256', secret).update(input).digest();
  const got = Buffer.from(sent, 'base64url');
  return got.length === wanted.length && timingSafeEqual(got, wanted);
}

/** The authority that a kubeconfig names, in PEM. */
function authorityIn(kubeconfig: string): string | undefined {
  try {
    const { clusters } = (readYaml(kubeconfig).value ?? {}) as {
      clusters?: { cluster?: Record<string, unknown> }[];
    };
    const data = clusters?.[0]?.cluster?.['certificate-authority-data'];
    const text = typeof data === 'string' ? Buffer.from(data, 'base64').toString('utf8') : '';
    return certificatesIn(text).length ? text : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the document. Without an authority the server is not verified: nothing secret is sent. */
async function clusterInfo(server: string, ca: string | undefined): Promise<Record<string, string>> {
  const { status, text } = await get(new URL(documentPath, server), ca);
  if (status === 404)
    throw new JoinError(`${server} has no document for machines that join (kube-public/cluster-info)`);
  if (status === 401 || status === 403)
    throw new JoinError(`${server} does not let machines read kube-public/cluster-info, which joining needs`);
  try {
    const { data } = JSON.parse(text) as { data?: Record<string, string> };
    if (status === 200 && data) return data;
  } catch {
    // The error is reported below.
  }
  throw new JoinError(`${server} does not answer like an API server (code ${status})`);
}

function get(url: URL, ca: string | undefined): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(new JoinError(unreachable(url, error), { cause: error }));
    const sent = request(
      url,
      ca === undefined ? { rejectUnauthorized: false } : { agent: new TrustedAgent({ ca }) },
      (answer) => {
        const pieces = new Pieces();
        answer.on('error', fail);
        answer.on('data', (chunk: Buffer) => {
          if (pieces.add(chunk) > documentBytesMax) sent.destroy(new Error('the answer is too large'));
        });
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, text: pieces.whole().toString('utf8') }),
        );
      },
    );
    sent.setTimeout(answerMaxMs, () => sent.destroy(new Error('there is no answer')));
    sent.on('error', fail);
    sent.end();
  });
}

function unreachable({ origin }: URL, { message }: Error): string {
  return `${origin} cannot be reached: ${message}`;
}
