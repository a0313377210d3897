/** The encryption configuration: which resources are encrypted in the store, with which keys. */
import { type ConfigurationValue, readConfiguration } from '../../api/text/configuration.ts';
import { type CipherName, cipherNames, keyLengths, makeCipher, type ValueCipher } from './cipher.ts';

/** How the values of some resources are encrypted and decrypted. */
export interface SealingRule {
  /** `secrets`, `deployments.apps`, `*.apps`, `*.` for the core group, `*.*`. */
  readonly resources: readonly string[];
  /** The first key encrypts, all can decrypt; undefined stands for values that are not encrypted. */
  readonly keys: readonly (ValueCipher | undefined)[];
}

/** Maximum length of a key's name, which is part of every value. */
const keyNameCharsMax = 128;

const versions = ['apiserver.config.k8s.io/v1'];

/** Parses a configuration. Throws an error with a sentence about what is wrong with it. */
export async function readEncryptionConfiguration(text: string): Promise<SealingRule[]> {
  const { resources } = readConfiguration(text, 'EncryptionConfiguration', versions, 'resources');
  const seen = new Set<string>();
  const rules: SealingRule[] = [];
  for (const item of resources.items()) {
    const rule = item.fields('resources', 'providers');
    const patterns = rule.resources.items().map((pattern) => readPattern(pattern, seen));
    if (patterns.length === 0) throw new Error(`${rule.resources.path} must name at least one resource`);
    const providers = rule.providers.items();
    if (providers.length === 0) throw new Error(`${rule.providers.path} must name at least one provider`);
    const keys: (ValueCipher | undefined)[] = [];
    for (const provider of providers) keys.push(...(await readProvider(provider)));
    const prefixes = keys.map((key) => key?.prefix.toString());
    const twice = prefixes.find((prefix, i) => prefixes.indexOf(prefix) !== i);
    if (twice !== undefined) throw new Error(`${rule.providers.path} has two keys of the same name`);
    rules.push({ resources: patterns, keys });
  }
  if (rules.length === 0) throw new Error('resources must have at least one entry');
  return rules;
}

function readPattern(value: ConfigurationValue, seen: Set<string>): string {
  const text = value.text();
  if (
    !/^([a-z0-9-]+|\*\.)([a-z0-9.*-]*)$/.test(text) ||
    (text.includes('*') && !/^\*\.([^*]*|\*)$/.test(text))
  )
    throw new Error(
      `${value.path} must be a resource such as secrets, deployments.apps, *.apps or *.*, not ${JSON.stringify(text)}`,
    );
  if (seen.has(text)) throw new Error(`${value.path} names ${text}, which is there before`);
  seen.add(text);
  return text;
}

async function readProvider(value: ConfigurationValue): Promise<(ValueCipher | undefined)[]> {
  const provider = value.fields(...cipherNames, 'identity', 'kms');
  if (provider.kms.isSet)
    throw new Error(`${provider.kms.path} is not part of this server; there are ${cipherNames.join(', ')}`);
  const chosen = [...cipherNames, 'identity' as const].filter((name) => provider[name].isSet);
  if (chosen.length !== 1)
    throw new Error(`${value.path} must be one of ${[...cipherNames, 'identity'].join(', ')}`);
  const [name] = chosen as [CipherName | 'identity'];
  if (name === 'identity') {
    provider.identity.fields();
    return [undefined];
  }
  const { keys } = provider[name].fields('keys');
  if (keys.items().length === 0) throw new Error(`${keys.path} must have at least one key`);
  const ciphers: ValueCipher[] = [];
  for (const key of keys.items()) ciphers.push(await readKey(key, name));
  return ciphers;
}

async function readKey(value: ConfigurationValue, cipher: CipherName): Promise<ValueCipher> {
  const { name, secret } = value.fields('name', 'secret');
  const keyName = name.text();
  if (keyName === '' || keyName.length > keyNameCharsMax || /[^\x20-\x39\x3b-\x7e]/.test(keyName))
    throw new Error(`${name.path} must be a name of at most ${keyNameCharsMax} characters, without a colon`);
  const text = secret.text();
  const key = Buffer.from(text, 'base64');
  const lengths = keyLengths(cipher);
  // The secret itself is never repeated in a message.
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || !lengths.includes(key.length))
    throw new Error(
      `${secret.path} must be ${lengths.join(', ').replace(/, (\d+)$/, ' or $1')} bytes in base64`,
    );
  return makeCipher(cipher, keyName, key);
}
