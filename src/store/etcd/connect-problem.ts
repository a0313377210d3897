/** Says what is wrong when a member of etcd cannot be reached, and which option to look at. */

/** The end of the error sentence for each known message of Node or OpenSSL. The first pattern that matches counts. */
const problems: readonly (readonly [RegExp, string])[] = [
  // Older members say "bad certificate" also when the client sent no certificate.
  [
    /alert (certificate required|bad certificate|unknown ca)/,
    'it asks for a client certificate that it accepts: set --etcd-certfile and --etcd-keyfile',
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
  [/did not answer/, 'it may be stopped, or ask for a client certificate: see --etcd-certfile'],
  [/ECONNREFUSED/, 'nothing listens there: check --etcd-servers, and that etcd runs'],
  [/ENOTFOUND|EAI_AGAIN/, 'there is no machine of that name: check --etcd-servers'],
  [
    /was closed|Protocol error|ECONNRESET/i,
    'it closed the connection: it may need https:// in --etcd-servers',
  ],
];

export function connectProblem(url: string, message: string): string {
  const said = message.trim();
  const known = problems.find(([pattern]) => pattern.test(message));
  return known ? `${url}: ${known[1]} (${said})` : `${url}: ${said}`;
}
