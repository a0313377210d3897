/** The options of `wherry envtest`: names, help, and how values are read. */
import { parseArgs } from 'node:util';
import type { AssetsLine } from '../envtest/assets.ts';

export type { AssetsLine };

export const assetsHelp = `  --store               write them into k8s/VERSION-OS-ARCH of the folder, where setup-envtest keeps installed versions
  --controllers LIST    which controllers run beside the server: cleanup for those that finish deletions, none, * for
                        all, names, or -name (default cleanup)
`;

const options = {
  store: { type: 'boolean' },
  controllers: { type: 'string' },
  help: { type: 'boolean' },
  version: { type: 'boolean' },
} as const;

/** @param refuse throws */
export function readAssetsLine(
  args: readonly string[],
  refuse: (message: string) => never,
): AssetsLine | { readonly command: 'help' | 'version' } {
  const { values, positionals } = parse(args, refuse);
  if (values.version) return { command: 'version' };
  if (values.help) return { command: 'help' };
  const [folder, ...rest] = positionals;
  if (!folder || rest.length) return refuse('envtest takes one folder, in which the programs are written');
  const { store = false, controllers } = values;
  if (controllers !== undefined && !/^[*a-z,-]+$/.test(controllers))
    refuse('--controllers must name controllers, or be cleanup, * or none');
  return { command: 'envtest', folder, versioned: store, controllers };
}

function parse(args: readonly string[], refuse: (message: string) => never) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    // Only the first sentence; the rest of Node's message is advice over several lines.
    return refuse(`${(error as Error).message.split(/\.\s/)[0]!}; see wherry --help`);
  }
}
