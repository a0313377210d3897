/**
 * Proves that the recipes for containers, CI and development containers are what their tools read, as far as that can be
 * said without these tools, and that they use the image as its Dockerfile makes it. recipes.kubectl.release.test.ts runs them.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { readYaml } from '../../src/api/text/yaml.ts';
import { readCommandLine } from '../../src/cli/options.ts';
import { container, recipesIn, recipeWith } from '../support/recipes.ts';

const root = path.join(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
type Any = any;
const yaml = (text: string): Any => readYaml(text).value;

/** Lines of a shell, at their commands. */
const commandsOf = (line: string): string[] =>
  line.split(/\s*(?:&&|\|\||;|\|)\s*/).map((one) => one.replace(/^exec /, '').replace(/\s+>+ ?.*$/, ''));

/** Every `wherry …` of a shell's lines, with or without a container before it. */
const wherryLines = (lines: readonly string[]): string[][] =>
  lines
    .flatMap(commandsOf)
    .map((line) => /^(?:docker exec .*? )?wherry (.*)$/.exec(line)?.[1])
    .filter((args) => args !== undefined)
    .map((args) => args.split(/\s+/));

function expectAccepted(lines: readonly string[]): void {
  const all = wherryLines(lines);
  expect(all.length).toBeGreaterThan(0);
  for (const args of all) expect(() => readCommandLine(args), args.join(' ')).not.toThrow();
}

describe('the image', () => {
  it('runs the cluster as a user without rights, and says so to those who read it', () => {
    expect(container).toMatchObject({ port: 6443, entrypoint: ['wherry'], command: ['up'], folder: '/data' });
    expect(container.user).toBeGreaterThan(0);
    expect(container.environment).toMatchObject({ HOME: container.folder, XDG_DATA_HOME: container.folder });
  });

  it('has variables that are options of the command', () => {
    for (const [name, value] of Object.entries(container.environment)) {
      if (!name.startsWith('WHERRY_')) continue;
      const flag = `--${name.slice('WHERRY_'.length).toLowerCase().replaceAll('_', '-')}`;
      expect(() => readCommandLine(['up', flag, value]), name).not.toThrow();
    }
  });

  it('asks the plain door whether the server is ready', () => {
    const [, port] = /WHERRY_PORT \?\? (\d+)\}\/readyz/.exec(container.healthCheck) ?? [];
    const page = readFileSync(path.join(root, 'docs/containers.md'), 'utf8');
    expect(page).toContain(`Plain HTTP, ${port}, stays on the container's loopback`);
    const help = readFileSync(path.join(root, 'docs/options.md'), 'utf8');
    expect(help).toMatch(new RegExp(`^ +--port PORT .*\\n?.*default:? ${port}`, 'm'));
  });
});

describe('recipes for Testcontainers', () => {
  it.each(['js', 'java', 'go', 'python', 'csharp'])(
    '%s: the port, the command and the line that is waited for',
    (language) => {
      const text = recipeWith(language, 'Ready after');
      expect(text).toContain('"wherry"'.replaceAll('"', language === 'js' ? "'" : '"'));
      const ports = [...text.matchAll(/\b\d{4,5}\b/g)].map(([port]) => Number(port));
      expect(new Set(ports)).toEqual(new Set([container.port]));
      // As an array or as one text: up --simulated-nodes 1, and what the container is asked for.
      const words = text.replaceAll(/["',]+\s*["']?/g, ' ');
      const up = /\bup\s+--simulated-nodes\s+1\b/.exec(words)?.[0];
      const asked = /\bwherry\s+kubeconfig\s+--server\s+server\b/.exec(words)?.[0];
      expect([up, asked], words).not.toContain(undefined);
      expectAccepted([`wherry ${up}`, asked!.replace(/\s+server$/, ' https://127.0.0.1:1')]);
    },
  );

  it('wait for a line that the command prints', () => {
    const printed = readFileSync(path.join(root, 'src/cli/cluster-command.ts'), 'utf8');
    expect(printed).toContain('`Ready after ${');
  });
});

describe('workflows in the form of GitHub', () => {
  const workflows = recipesIn('yaml')
    .map(yaml)
    .filter(({ jobs }) => jobs);

  it('are jobs with steps that do one thing each', () => {
    expect(workflows).toHaveLength(2);
    for (const { jobs } of workflows)
      for (const job of Object.values<Any>(jobs)) {
        expect(Object.keys(job).filter((key) => !['runs-on', 'services', 'steps'].includes(key))).toEqual([]);
        expect(job['runs-on']).toBe('ubuntu-latest');
        for (const step of job.steps) {
          expect('run' in step ? typeof step.run : step.uses).toMatch(/^(?:string|[\w-]+\/[\w-]+@v\d+)$/);
          expect(
            Object.keys(step).filter((key) => !['run', 'uses', 'with', 'if', 'name', 'env'].includes(key)),
          ).toEqual([]);
        }
      }
  });

  it('run commands that there are, of this version, and services with the port of the image', () => {
    for (const { jobs } of workflows)
      for (const { steps, services = {} } of Object.values<Any>(jobs)) {
        const lines = steps.flatMap(({ run = [] }: Any) => run);
        expectAccepted(lines.map((line: string) => line.replace(/\$\{\{.*?\}\}/, 'id')));
        for (const line of lines.filter((text: string) => text.includes('.tgz')))
          expect(line).toContain(`/wherry-${version}.tgz`);
        for (const { ports } of Object.values<Any>(services))
          expect(ports).toEqual([`${container.port}:${container.port}`]);
      }
  });
});

describe('the others', () => {
  it('GitLab: a service with a shell before the command, whose options are taken', () => {
    const { test } = yaml(recipeWith('yaml', 'alias: wherry'));
    const [service] = test.services;
    expect(Object.keys(service).sort()).toEqual(['alias', 'command', 'entrypoint', 'name', 'variables']);
    expect(service.entrypoint).toEqual(['sh', '-c']);
    expect(service.command).toHaveLength(1);
    expectAccepted(service.command);
    expect(service.command[0]).toContain(`--tls-san ${service.alias} `);
    expect(service.command[0]).toContain(` > ${container.folder}/tokens `);
    expect(service.variables).toEqual(test.variables);
    expect(test.script.join('\n')).toContain(`https://${service.alias}:${container.port} `);
  });

  it('a development container: keys of its specification, and commands that there are', () => {
    const made = JSON.parse(recipesIn('json')[0]!);
    expect(Object.keys(made)).toEqual([
      'image',
      'features',
      'onCreateCommand',
      'postStartCommand',
      'forwardPorts',
    ]);
    expectAccepted([made.postStartCommand]);
    expect(made.onCreateCommand).toBe(`npm install -g ./wherry-${version}.tgz`);
    expect(container.healthCheck).toContain(String(made.forwardPorts[0]));
  });

  it('Compose: servers of the image, with options that are taken, behind the port of the image', () => {
    const { services, volumes } = yaml(
      readFileSync(path.join(root, 'examples/replicas/compose/compose.yaml'), 'utf8'),
    );
    const names = Object.keys(services);
    for (const [name, { depends_on: needs = [], command, volumes: mounts = [] }] of Object.entries<Any>(
      services,
    )) {
      expect(names, name).toEqual(expect.arrayContaining(needs));
      if (name.startsWith('wherry-')) expect(() => readCommandLine(command), name).not.toThrow();
      for (const mount of mounts.filter((text: string) => /^[\w-]+:/.test(text)))
        expect(Object.keys(volumes)).toContain(mount.split(':')[0]);
    }
    expect(services.balancer.ports).toEqual([`127.0.0.1:\${PORT:-${container.port}}:${container.port}`]);
  });

  it('suites that start kube-apiserver: folders that the image has', () => {
    const text = recipesIn('dockerfile')[0]!;
    const dockerfile = readFileSync(path.join(root, 'Dockerfile'), 'utf8');
    for (const [, folder] of text.matchAll(/^COPY --from=wherry (\/opt\S+) /gm))
      expect(dockerfile).toContain(` ${folder}\n`);
    expectAccepted([/ \S+\/(wherry envtest .*)$/m.exec(text)![1]!]);
  });
});
