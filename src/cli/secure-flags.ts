/** The options that say how the secure door listens: names, help, and how values are read. */
import { cipherList, type ListenOptions, type SniFiles } from '../cluster/options/listen-options.ts';
import { list, text } from './flag-values.ts';

const securePort = 6443;
const streamsMaxMax = 1_000_000;
const flag = { type: 'boolean', for: text.for } as const;

/** For `parseArgs`. */
export const secureArgs = {
  'secure-port': text,
  'secure-host': text,
  'tls-san': list,
  'tls-cert-file': text,
  'tls-private-key-file': text,
  'tls-sni-cert-key': list,
  'client-ca-file': text,
  'tls-min-version': text,
  'tls-cipher-suites': text,
  'http2-max-streams-per-connection': text,
  'disable-http2-serving': flag,
  'write-kubeconfig': text,
} as const;

export const secureHelp = `  --secure-port PORT    port for HTTPS; 0 takes any free one, off none (default 6443, or any when that is taken)
  --secure-host HOST    address for HTTPS; any of this machine, 0.0.0.0 for all (default 127.0.0.1)
  --tls-san NAME        a further name or address for the certificate of the server; may be repeated
  --tls-cert-file FILE  certificate of the server, in place of one that it makes
  --tls-private-key-file FILE
                        its private key
  --tls-sni-cert-key CERT,KEY[:NAMES]
                        certificate for clients that ask for one of these names; may be repeated
  --client-ca-file FILE
                        authorities whose client certificates are accepted, beside the cluster's own
  --tls-min-version VERSION
                        VersionTLS12 or VersionTLS13 (default VersionTLS12)
  --tls-cipher-suites LIST
                        cipher suites for TLS 1.2, by their names in Go (default: those of kube-apiserver)
  --http2-max-streams-per-connection N
                        requests that one connection may have open (default 1000)
  --disable-http2-serving
                        speak HTTP/1.1 only
  --write-kubeconfig FILE
                        where the administrator's kubeconfig is written (default: kubeconfig in the data folder)
`;

export interface SecureValues {
  readonly 'secure-port'?: string | undefined;
  readonly 'secure-host'?: string | undefined;
  readonly 'tls-san'?: string[] | undefined;
  readonly 'tls-cert-file'?: string | undefined;
  readonly 'tls-private-key-file'?: string | undefined;
  readonly 'tls-sni-cert-key'?: string[] | undefined;
  readonly 'client-ca-file'?: string | undefined;
  readonly 'tls-min-version'?: string | undefined;
  readonly 'tls-cipher-suites'?: string | undefined;
  readonly 'http2-max-streams-per-connection'?: string | undefined;
  readonly 'disable-http2-serving'?: boolean | undefined;
  readonly 'write-kubeconfig'?: string | undefined;
}

/** false: the door stays closed. @param refuse throws */
export function readListening(
  values: SecureValues,
  refuse: (message: string) => never,
): ListenOptions | false {
  const port = values['secure-port'];
  if (port === 'off') {
    const idle = Object.keys(secureArgs).find(
      (name) => name !== 'secure-port' && values[name as keyof SecureValues] !== undefined,
    );
    if (idle) refuse(`--${idle} needs the secure door, which --secure-port off closes`);
    return false;
  }
  const certFile = values['tls-cert-file'];
  const keyFile = values['tls-private-key-file'];
  if ((certFile === undefined) !== (keyFile === undefined))
    refuse('--tls-cert-file and --tls-private-key-file need each other');
  return {
    port: port === undefined ? securePort : portOf(port, refuse),
    orAnyPort: port === undefined,
    host: values['secure-host'],
    sans: values['tls-san']?.map((name) => sanOf(name, refuse)),
    certFile,
    keyFile,
    sniCertificates: values['tls-sni-cert-key']?.map((value) => sniOf(value, refuse)),
    clientCAFile: values['client-ca-file'],
    minVersion: versionOf(values['tls-min-version'], refuse),
    ciphers: ciphersOf(values['tls-cipher-suites'], refuse),
    http2: !values['disable-http2-serving'],
    http2StreamsMax: streamsOf(values['http2-max-streams-per-connection'], refuse),
    kubeconfigFile: values['write-kubeconfig'],
  };
}

function portOf(value: string, refuse: (message: string) => never): number {
  if (/^\d{1,5}$/.test(value) && Number(value) <= 65535) return Number(value);
  return refuse(`--secure-port must be a number from 0 to 65535, or off, not ${JSON.stringify(value)}`);
}

function sanOf(value: string, refuse: (message: string) => never): string {
  if (/^[A-Za-z0-9*._:-]{1,253}$/.test(value)) return value;
  return refuse(`--tls-san must be a name or an address, not ${JSON.stringify(value)}`);
}

/** `cert,key` or `cert,key:name,name`. */
function sniOf(value: string, refuse: (message: string) => never): SniFiles {
  const [, certFile, keyFile, names] = /^([^,:]+),([^,:]+)(?::(.+))?$/.exec(value) ?? [];
  if (certFile === undefined || keyFile === undefined)
    return refuse(
      `--tls-sni-cert-key must be two files and maybe names, such as a.crt,a.key:a.example, not ${JSON.stringify(value)}`,
    );
  return { certFile, keyFile, ...(names === undefined ? {} : { names: names.split(',') }) };
}

function versionOf(
  value: string | undefined,
  refuse: (message: string) => never,
): 'TLSv1.2' | 'TLSv1.3' | undefined {
  if (value === undefined || value === 'VersionTLS12') return undefined;
  if (value === 'VersionTLS13') return 'TLSv1.3';
  return refuse(`--tls-min-version must be one of VersionTLS12, VersionTLS13, not ${JSON.stringify(value)}`);
}

function ciphersOf(value: string | undefined, refuse: (message: string) => never): string | undefined {
  if (value === undefined) return undefined;
  const ciphers = cipherList(value.split(','));
  return (
    ciphers ?? refuse(`--tls-cipher-suites names a suite that is not supported: ${JSON.stringify(value)}`)
  );
}

/** 0 stands for the default, as in Kubernetes. */
function streamsOf(value: string | undefined, refuse: (message: string) => never): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,7}$/.test(value) && Number(value) <= streamsMaxMax) return Number(value) || undefined;
  return refuse(
    `--http2-max-streams-per-connection must be a number from 0 to ${streamsMaxMax}, not ${JSON.stringify(value)}`,
  );
}
