/** Says what is wrong when a member of etcd cannot be reached, and which option to look at. */

/** Ends of sentences, by what Node or OpenSSL says. The first that fits counts. */
const problems: readonly (readonly [RegExp, string])[] = [
  [/alert certificate required/, 'it asks for a client certificate: set --etcd-certfile and --etcd-keyfile'],
  [
    /alert (unknown ca|bad certificate)/,
    'it does not accept our client certificate: check --etcd-certfile and --etcd-keyfile',
  ],
  [
    /unable to verify|self.signed certificate|unable to get (local )?issuer/,
    'its certificate is not signed by a known authority: set --etcd-cafile',
  ],
  [
    /does not match certificate's altnames|Hostname\/IP/,
    'its certificate is for another name: use a name of the certificate in --etcd-servers',
  ],
  [
    /before secure TLS connection|wrong version number/,
    'it does not speak TLS: use http:// in --etcd-servers',
  ],
  [/ECONNREFUSED/, 'nothing listens there: check --etcd-servers, and that etcd runs'],
  [/ENOTFOUND|EAI_AGAIN/, 'there is no machine of that name: check --etcd-servers'],
  [
    /at once|Protocol error|ECONNRESET|socket hang up/i,
    'it closed the connection: it may need https:// in --etcd-servers',
  ],
];

export function connectProblem(url: string, message: string): string {
  const known = problems.find(([pattern]) => pattern.test(message));
  return known ? `${url}: ${known[1]} (${message})` : `${url}: ${message}`;
}
