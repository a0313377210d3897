/** Images and registries as `wherry.yaml` writes them: commands for names of images, and credentials for registries. */
import { readFileSync } from 'node:fs';
import { readImageEntry } from '../../node/runtime/images.ts';
import { anyValue, field, mapOf, objectOf, type Shape, texts } from './shape.ts';

const passwordBytesMax = 64 * 1024;

export interface RegistryAccess {
  readonly username: string;
  readonly password: string;
}

const entry: Shape<unknown> = {
  ...anyValue('a command line, a list, or {command, args, env, workingDir, files, user, paths}'),
  read: (found) => {
    const name = String(found.path.at(-1));
    try {
      readImageEntry(name, found.value);
    } catch (error) {
      found.refuse((error as Error).message);
    }
    return located(found.value, (path) => found.near(path));
  },
};

/** The paths of an entry, which begin at the folder of the file. */
function located(value: unknown, near: (path: string) => string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const { files, paths, ...rest } = value as { files?: string; paths?: Record<string, string> };
  return {
    ...rest,
    ...(files === undefined ? {} : { files: near(files) }),
    ...(paths && { paths: Object.fromEntries(Object.entries(paths).map(([at, path]) => [at, near(path)])) }),
  };
}

/** Commands of this machine by names of images, as the file of `--images` has them. */
export const imageEntries: Shape<Readonly<Record<string, unknown>>> = mapOf(entry);

const access = objectOf(
  {
    username: field(texts(), 'the name to log in with'),
    password: field(texts(), 'the password or token; better in a file of its own'),
    'password-file': field(texts('a file'), 'a file with the password'),
  },
  (read) => {
    if (read.username === undefined) return 'needs a username';
    const given = [read.password, read['password-file']].filter((one) => one !== undefined);
    return given.length === 1 ? undefined : 'needs a password or a password-file';
  },
);

const registry: Shape<RegistryAccess> = {
  ...access,
  read: (found) => {
    const { username = '', password, 'password-file': file } = access.read(found);
    if (password !== undefined) return { username, password };
    try {
      const text = readFileSync(found.near(file!), 'utf8');
      if (text.length > passwordBytesMax) throw new Error('it is too long');
      return { username, password: text.trimEnd() };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return found.at('password-file').refuse(`${file} cannot be read: ${code ?? message}`);
    }
  },
};

export const registryAccess: Shape<Readonly<Record<string, RegistryAccess>>> = mapOf(registry);
