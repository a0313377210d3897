/**
 * Programs in C#, compiled by the SDK of scripts/dotnet.mjs against its own libraries. Packages of NuGet, which the tests do
 * not reach, have stand-ins in the folder beside.
 */
import { execFile } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { fetchDotnet } from '../../scripts/dotnet.mjs';

export interface Dotnet {
  readonly program: string;
  readonly variables: Readonly<Record<string, string>>;
  /** Compiles a program, or a library, into a folder; returns the file to run. Throws what the compiler says. */
  compiled(sources: readonly string[], target: string, kind: 'exe' | 'library'): Promise<string>;
}

const only = (parent: string): string => path.join(parent, readdirSync(parent)[0]!);

/** .NET on this machine; a sentence when it cannot be had. */
export async function findDotnet(): Promise<Dotnet | string> {
  let found: Awaited<ReturnType<typeof fetchDotnet>>;
  try {
    found = await fetchDotnet(() => undefined);
  } catch (error) {
    return `there is no .NET: ${(error as Error).message}`;
  }
  const { folder, variables } = found;
  const program = path.join(folder, 'dotnet');
  const libraries = path.join(
    only(path.join(folder, 'packs/Microsoft.NETCore.App.Ref')),
    'ref/netcoreapp3.1',
  );
  const compiler = path.join(only(path.join(folder, 'sdk')), 'Roslyn/bincore/csc.dll');
  const references = readdirSync(libraries).filter((name) => name.endsWith('.dll'));
  const env = { ...process.env, ...variables };
  return {
    program,
    variables,
    async compiled(sources, target, kind) {
      const file = path.join(target, 'program.dll');
      const flags = ['-nologo', '-warnaserror', '-langversion:8', `-target:${kind}`, `-out:${file}`];
      const args = [...flags, ...references.map((name) => `-r:${path.join(libraries, name)}`), ...sources];
      writeFileSync(path.join(target, 'program.rsp'), args.map((arg) => `"${arg}"\n`).join(''));
      await promisify(execFile)(program, [compiler, `@${path.join(target, 'program.rsp')}`], { env }).catch(
        (error: { stdout: string }) => {
          throw new Error(error.stdout || String(error));
        },
      );
      const framework = { name: 'Microsoft.NETCore.App', version: '3.1.0' };
      writeFileSync(
        path.join(target, 'program.runtimeconfig.json'),
        JSON.stringify({ runtimeOptions: { framework } }),
      );
      return file;
    },
  };
}
