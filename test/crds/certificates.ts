/** Certificates that a controller asks for and renews. */
import { nameRef, objectRef, status } from './schema-parts.ts';
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
  set,
  share,
  span,
  text,
  time,
  whole,
  without,
} from './schema-words.ts';

const usages = [
  'signing',
  'digital signature',
  'content commitment',
  'key encipherment',
  'key agreement',
  'data encipherment',
  'cert sign',
  'crl sign',
  'server auth',
  'client auth',
  'code signing',
  'email protection',
  'timestamping',
  'ocsp signing',
] as const;

const keystore = (what: string) =>
  fields(`A ${what} beside the certificate.`, {
    create: flag('Whether to make one.', { default: false }),
    alias: text('The name of the entry in it.', { maxLength: 64 }),
    profile: choice('Which ciphers protect it.', ['LegacyRC2', 'LegacyDES', 'Modern2023']),
    passwordSecretRef: fields(
      'Its password.',
      { name: name('The secret.'), key: text('The entry.', { default: 'password' }) },
      ['name'],
    ),
  });

const issuerRef = fields(
  'Who signs.',
  {
    name: name('The issuer.'),
    kind: text('Its kind.', { default: 'Issuer' }),
    group: text('Its group.', { default: 'pki.example.com' }),
  },
  ['name'],
);

const spec = ruled(
  fields(
    'What is asked for.',
    {
      secretName: name('The secret that holds certificate and key.'),
      issuerRef,
      commonName: text('The name in the subject.', { maxLength: 64 }),
      dnsNames: set('Host names.', { type: 'string', maxLength: 253 }, { maxItems: 100 }),
      ipAddresses: set('Addresses.', { type: 'string', maxLength: 45 }, { maxItems: 100 }),
      uris: list('Identifiers.', { type: 'string', format: 'uri' }),
      emailAddresses: list('Mail addresses.', { type: 'string', format: 'email' }),
      otherNames: list(
        'Names of other kinds.',
        fields('A name.', {
          oid: text('Its kind.', { pattern: '^[0-9]+(\\.[0-9]+)+$' }),
          utf8Value: text('The name.'),
        }),
      ),
      literalSubject: text('The whole subject, as text.'),
      subject: fields('Parts of the subject.', {
        organizations: list('Organizations.', { type: 'string' }),
        organizationalUnits: list('Units of them.', { type: 'string' }),
        countries: list('Countries.', { type: 'string', minLength: 2, maxLength: 2 }),
        provinces: list('Provinces.', { type: 'string' }),
        localities: list('Places.', { type: 'string' }),
        streetAddresses: list('Streets.', { type: 'string' }),
        postalCodes: list('Post codes.', { type: 'string' }),
        serialNumber: text('A number.'),
      }),
      duration: span('How long it is good for.', { default: '2160h' }),
      renewBefore: span('How long before its end it is made anew.'),
      renewBeforePercentage: whole('The same, in percent of its time.', { minimum: 1, maximum: 99 }),
      revisionHistoryLimit: whole('Requests that are kept.', { minimum: 1 }),
      isCA: flag('Whether it may sign others.', { default: false }),
      usages: set('What it may be used for.', { type: 'string', enum: usages }),
      encodeUsagesInRequest: flag('Whether the request says so, too.'),
      privateKey: fields(
        'The key.',
        {
          algorithm: choice('Its kind.', ['RSA', 'ECDSA', 'Ed25519'], { default: 'RSA' }),
          encoding: choice('How it is written.', ['PKCS1', 'PKCS8'], { default: 'PKCS1' }),
          rotationPolicy: choice('Whether each certificate gets a new one.', ['Never', 'Always'], {
            default: 'Always',
          }),
          size: whole('Its length in bits.', { minimum: 224, maximum: 8192 }),
        },
        [],
        { default: {} },
      ),
      keystores: fields('Files for programs that cannot read PEM.', {
        jks: keystore('JKS'),
        pkcs12: keystore('PKCS#12'),
      }),
      additionalOutputFormats: list(
        'More entries of the secret.',
        fields('An entry.', { type: choice('What it holds.', ['DER', 'CombinedPEM']) }, ['type']),
      ),
      secretTemplate: fields('Metadata of the secret.', {
        annotations: entries('Annotations.'),
        labels: entries('Labels.'),
      }),
      nameConstraints: fields('Names that it may sign.', {
        critical: flag('Whether it is refused by those who do not understand this.'),
        permitted: fields('May be signed.', {
          dnsDomains: list('Domains.', { type: 'string' }),
          ipRanges: list('Ranges.', { type: 'string', format: 'cidr' }),
          emailAddresses: list('Mail addresses.', { type: 'string' }),
          uriDomains: list('Domains of identifiers.', { type: 'string' }),
        }),
        excluded: fields('May not be signed.', {
          dnsDomains: list('Domains.', { type: 'string' }),
          ipRanges: list('Ranges.', { type: 'string', format: 'cidr' }),
          emailAddresses: list('Mail addresses.', { type: 'string' }),
          uriDomains: list('Domains of identifiers.', { type: 'string' }),
        }),
      }),
      suspendedBy: objectRef('What keeps it from being made.'),
      signatureAlgorithm: choice('How it is signed.', [
        'SHA256WithRSA',
        'SHA384WithRSA',
        'ECDSAWithSHA256',
        'PureEd25519',
      ]),
      weight: share('How soon it is dealt with.'),
    },
    ['secretName', 'issuerRef'],
  ),
  rule(
    '!(has(self.renewBefore) && has(self.renewBeforePercentage))',
    'renewBefore and renewBeforePercentage exclude each other',
  ),
  rule('has(self.commonName) || has(self.dnsNames) || has(self.ipAddresses)', 'a certificate needs a name'),
);

const found = status({
  notBefore: time('When it begins to be good.'),
  notAfter: time('When it ends.'),
  renewalTime: time('When it is made anew.'),
  revision: count('How often it was made.'),
  nextPrivateKeySecretName: text('Where the next key waits.'),
  failedIssuanceAttempts: count('Failures in a row.'),
  lastFailureTime: time('The last of them.'),
  issuer: nameRef('Who signed.'),
});

const older = plus(
  without(spec, 'renewBeforePercentage', 'nameConstraints', 'otherNames', 'signatureAlgorithm'),
  {
    organization: list('Organizations of the subject.', { type: 'string' }),
  },
);

export const certificates: MadeUpKind = {
  group: 'pki.example.com',
  kind: 'Certificate',
  plural: 'certificates',
  shortNames: ['cert', 'certs'],
  categories: ['pki'],
  versions: [
    { name: 'v1alpha2', spec: older, status: found, deprecated: true },
    { name: 'v1beta1', spec: older, status: found },
    {
      name: 'v1',
      spec,
      status: found,
      columns: [
        { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
        { name: 'Secret', type: 'string', jsonPath: '.spec.secretName' },
        { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
      ],
      selectable: ['.spec.secretName', '.spec.isCA'],
    },
  ],
  sample: {
    secretName: 'web-tls',
    issuerRef: { name: 'root' },
    dnsNames: ['a.example.com'],
    usages: ['server auth'],
  },
  defaults: {
    '/spec/duration': '2160h',
    '/spec/isCA': false,
    '/spec/issuerRef/kind': 'Issuer',
    '/spec/privateKey': { algorithm: 'RSA', encoding: 'PKCS1', rotationPolicy: 'Always' },
  },
  breaks: [
    {
      spec: { secretName: null },
      causes: [
        ['spec.secretName', 'Required value'],
        ['<nil>', 'some validation rules were not checked'],
      ],
    },
    {
      spec: { usages: ['flying'] },
      causes: [
        ['spec.usages[0]', 'Unsupported value: "flying"'],
        ['<nil>', 'some validation rules'],
      ],
    },
    { spec: { dnsNames: ['a', 'a'] }, causes: [['spec.dnsNames[1]', 'Duplicate value: "a"']] },
    { spec: { duration: 'forever' }, causes: [['spec.duration', 'should match']] },
    {
      spec: { renewBefore: '1h', renewBeforePercentage: 10 },
      causes: [['spec', 'renewBefore and renewBeforePercentage exclude each other']],
    },
    {
      spec: { privateKey: { size: 1 } },
      causes: [['spec.privateKey.size', 'should be greater than or equal to 224']],
    },
  ],
  older: { secretName: 'old-tls', issuerRef: { name: 'root' }, commonName: 'old', organization: ['ours'] },
  migrated: {
    '/spec/commonName': 'old',
    '/spec/organization': undefined,
    '/spec/privateKey/algorithm': 'RSA',
  },
  explained: {
    'spec.privateKey.rotationPolicy': 'new one',
    'spec.nameConstraints.permitted.dnsDomains': 'Domains',
  },
};
