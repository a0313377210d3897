/** Issuers of certificates: an own key, a certificate server that checks who owns a name, a vault. */
import { podTemplate } from './pod-parts.ts';
import { labelSelector, objectRef, secretKey, status } from './schema-parts.ts';
import {
  choice,
  count,
  entries,
  fields,
  flag,
  list,
  type MadeUpKind,
  name,
  plus,
  rule,
  ruled,
  span,
  text,
  without,
} from './schema-words.ts';

const dnsProvider = (what: string, more: Record<string, ReturnType<typeof text>>) =>
  fields(`The service of ${what}.`, more);

const solver = fields('How it is proved that a name is ours.', {
  selector: fields('For which names.', {
    matchLabels: entries('Labels of the certificate.'),
    dnsNames: list('Whole names.', { type: 'string' }),
    dnsZones: list('Domains.', { type: 'string' }),
  }),
  http01: fields('By a page at the name.', {
    ingress: fields('Through an ingress.', {
      name: text('An ingress that is there.'),
      ingressClassName: text('The class of one that is made.'),
      serviceType: choice('The kind of service.', ['ClusterIP', 'NodePort']),
      podTemplate: podTemplate('The pods that show the page.'),
    }),
    gatewayHTTPRoute: fields('Through a gateway.', {
      labels: entries('Labels of the route.'),
      parentRefs: list('The gateways.', objectRef('A gateway.')),
    }),
  }),
  dns01: fields('By an entry in the domain.', {
    cnameStrategy: choice('Whether aliases are followed.', ['None', 'Follow']),
    north: dnsProvider('a large cloud', {
      region: text('Where.'),
      hostedZone: text('The domain there.'),
      role: text('Who acts.'),
      accessKey: secretKey('The name of the key.'),
      secretKey: secretKey('The key.'),
    }),
    south: dnsProvider('another cloud', {
      project: text('The project.'),
      zone: text('The domain there.'),
      account: secretKey('Who acts.'),
    }),
    plain: dnsProvider('a plain server', {
      nameserver: text('Its address.', { minLength: 1 }),
      tsigKeyName: text('The name of the key.'),
      tsigAlgorithm: text('How changes are signed.'),
      tsigSecret: secretKey('The key.'),
    }),
    webhook: fields(
      'A program of our own.',
      {
        groupName: text('The group of its API.'),
        solverName: text('Which of its ways.'),
        config: { description: 'Whatever it wants to know.', 'x-kubernetes-preserve-unknown-fields': true },
      },
      ['groupName', 'solverName'],
    ),
  }),
});

const spec = ruled(
  fields('Who signs, and how.', {
    acme: fields(
      'A server that signs for those who own a name.',
      {
        server: text('Its address.', { format: 'uri' }),
        email: text('Who is told about trouble.', { format: 'email' }),
        preferredChain: text('The root to prefer.', { maxLength: 64 }),
        privateKeySecretRef: secretKey('The key of the account.'),
        caBundle: text('Certificates that sign the server.', { format: 'byte' }),
        skipTLSVerify: flag('Take any certificate.'),
        externalAccountBinding: fields(
          'An account that is there already.',
          { keyID: text('Its name.'), keySecretRef: secretKey('Its key.') },
          ['keyID', 'keySecretRef'],
        ),
        disableAccountKeyGeneration: flag('Use the key that is there.'),
        enableDurationFeature: flag('Ask for a certain time.'),
        profile: text('The kind of certificate.'),
        solvers: list('NodeConnections of proof; the first that fits is taken.', solver, { maxItems: 20 }),
      },
      ['privateKeySecretRef', 'server'],
    ),
    ca: fields(
      'A key of our own.',
      {
        secretName: name('Where it is.'),
        crlDistributionPoints: list('Where withdrawn certificates are listed.', { type: 'string' }),
        ocspServers: list('Where to ask about one.', { type: 'string' }),
        issuingCertificateURLs: list('Where its certificate is.', { type: 'string' }),
      },
      ['secretName'],
    ),
    selfSigned: fields('Each certificate signs itself.', {
      crlDistributionPoints: list('Where withdrawn certificates are listed.', { type: 'string' }),
    }),
    vault: fields(
      'A vault.',
      {
        server: text('Its address.', { format: 'uri' }),
        serverName: text('The name that it must prove.'),
        path: text('The place of the signing key.'),
        namespace: text('The part of the vault.'),
        caBundle: text('Certificates that sign the server.', { format: 'byte' }),
        caBundleSecretRef: secretKey('The same, in a secret.'),
        clientCertSecretRef: secretKey('The certificate to show.'),
        clientKeySecretRef: secretKey('Its key.'),
        auth: fields('Who we are there.', {
          tokenSecretRef: secretKey('A token.'),
          appRole: fields(
            'A role.',
            {
              path: text('Where roles are.'),
              roleId: text('The role.'),
              secretRef: secretKey('Its password.'),
            },
            ['path', 'roleId', 'secretRef'],
          ),
          clientCertificate: fields('A certificate.', {
            mountPath: text('Where certificates are.'),
            name: text('The role.'),
            secretName: text('The certificate.'),
          }),
          kubernetes: fields(
            'A service account.',
            {
              role: text('The role.'),
              mountPath: text('Where accounts are.'),
              secretRef: secretKey('Its token.'),
              serviceAccountRef: fields(
                'The account.',
                { name: name('Its name.'), audiences: list('For whom tokens are.', { type: 'string' }) },
                ['name'],
              ),
            },
            ['role'],
          ),
        }),
      },
      ['auth', 'path', 'server'],
    ),
    venafi: fields(
      'A service for large firms.',
      {
        zone: text('The rules to go by.'),
        cloud: fields(
          'In the cloud.',
          { url: text('Its address.'), apiTokenSecretRef: secretKey('The token.') },
          ['apiTokenSecretRef'],
        ),
        tpp: fields(
          'In the house.',
          {
            url: text('Its address.'),
            caBundle: text('Certificates.', { format: 'byte' }),
            credentialsRef: fields('Who we are.', { name: name('The secret.') }, ['name']),
          },
          ['credentialsRef', 'url'],
        ),
      },
      ['zone'],
    ),
    allowedNamespaces: fields('Who may ask.', {
      from: choice('Which namespaces.', ['Same', 'Selector', 'All'], { default: 'Same' }),
      selector: labelSelector('Those with these labels.'),
    }),
    retry: fields(
      'How often it is tried.',
      {
        limit: count('Tries.', { default: 5, maximum: 20 }),
        backoff: span('Time between them.', { default: '30s' }),
      },
      [],
      { default: {} },
    ),
  }),
  rule(
    '[has(self.acme), has(self.ca), has(self.selfSigned), has(self.vault), has(self.venafi)].filter(x, x).size() == 1',
    'exactly one way of signing must be given',
  ),
);

const found = status({
  acme: fields('About the account.', {
    uri: text('Its address.'),
    lastRegisteredEmail: text('Who was told to the server.'),
    lastPrivateKeyHash: text('Which key it has.'),
  }),
});

const older = plus(without(spec, 'allowedNamespaces', 'retry'), {
  http01: flag('Pages are shown.'),
  dns01: flag('Entries are made.'),
});

export const issuers: MadeUpKind = {
  group: 'pki.example.com',
  kind: 'Issuer',
  plural: 'issuers',
  categories: ['pki'],
  versions: [
    { name: 'v1alpha3', spec: older, status: found },
    {
      name: 'v1',
      spec,
      status: found,
      columns: [{ name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' }],
    },
  ],
  sample: {
    acme: {
      server: 'https://acme.example.com/directory',
      email: 'ops@example.com',
      privateKeySecretRef: { name: 'account', key: 'tls.key' },
      solvers: [
        { dns01: { webhook: { groupName: 'g', solverName: 's', config: { any: [1, { thing: null }] } } } },
      ],
    },
  },
  defaults: {
    '/spec/retry': { limit: 5, backoff: '30s' },
    '/spec/acme/solvers/0/dns01/webhook/config': { any: [1, { thing: null }] },
  },
  breaks: [
    { spec: { ca: { secretName: 'x' } }, causes: [['spec', 'exactly one way of signing must be given']] },
    { spec: { acme: null }, causes: [['spec', 'exactly one way of signing must be given']] },
    {
      spec: { acme: { server: 'nowhere' } },
      causes: [
        ['spec.acme.server', 'must be of type uri'],
        ['<nil>', 'some validation rules'],
      ],
    },
    { spec: { retry: { limit: 21 } }, causes: [['spec.retry.limit', 'should be less than or equal to 20']] },
    {
      spec: { acme: { solvers: [{ http01: { ingress: { podTemplate: { spec: { containers: [] } } } } }] } },
      causes: [
        ['spec.acme.solvers[0].http01.ingress.podTemplate.spec.containers', 'should have at least 1 items'],
      ],
    },
  ],
  older: { selfSigned: {}, http01: true },
  migrated: { '/spec/selfSigned': {}, '/spec/http01': undefined, '/spec/retry/limit': 5 },
  explained: {
    'spec.acme.solvers.dns01.plain.tsigAlgorithm': 'signed',
    'spec.vault.auth.kubernetes.role': 'The role',
  },
};
