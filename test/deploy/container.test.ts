import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { expect, test } from 'vitest';
import { parseConfig } from '../../src/config.ts';

/** Tests can neither build an image nor run a cluster, so they judge the files of both. */
const DEPLOY = join(import.meta.dirname, '../../deploy');
const KUBERNETES = join(DEPLOY, 'kubernetes');
const read = (file: string) => readFileSync(join(DEPLOY, file), 'utf8');

interface Kustomization {
  readonly resources: readonly string[];
  readonly configMapGenerator: readonly { readonly files: readonly string[] }[];
}
const kustomization = parse(read('kubernetes/kustomization.yaml')) as Kustomization;
const objects = kustomization.resources.flatMap((file) =>
  parseAllDocuments(read(`kubernetes/${file}`)).map((document) => {
    expect(document.errors, file).toEqual([]);
    return document.toJS() as Manifest;
  }),
);
interface Manifest {
  readonly kind: string;
  readonly spec: Record<string, unknown>;
}
const specOf = (kind: string): Record<string, unknown> =>
  objects.find((each) => each.kind === kind)!.spec;
const text = (kind: string) => JSON.stringify(specOf(kind));

test('lists every file for kustomize, and has every file', () => {
  const named = [
    ...kustomization.resources,
    ...kustomization.configMapGenerator.flatMap(({ files }) => files),
    'kustomization.yaml',
  ];
  expect(named.toSorted()).toEqual(readdirSync(KUBERNETES).toSorted());
  expect(objects.map(({ kind }) => kind).toSorted()).toEqual([
    'Deployment',
    'Namespace',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'PrometheusRule',
    'Service',
    'Service',
    'ServiceMonitor',
  ]);
});

test('has a valid daemon configuration in the manifests, with the pod’s inputs', () => {
  const references = [...read('kubernetes/shepherd.yaml').matchAll(/\$\{(\w+)\}/g)].map(
    ([, name]) => name!,
  );
  const env = Object.fromEntries(references.map((name) => [name, `postgres://${name}@db/bmdb`]));
  const config = parseConfig(parse(read('kubernetes/shepherd.yaml')), { env });
  const deployment = text('Deployment');
  for (const name of references) expect(deployment).toContain(`"name":"${name}","valueFrom"`);
  expect(deployment).toContain(`"name":"agents","containerPort":${config.agentServer.listen.port}`);
  expect(deployment).toContain(`"name":"console","containerPort":${config.console.listen.port}`);
  const files = [
    ...[config.agentServer.keyPath, config.console.tls?.keyPath, config.ssh.keyPath],
    config.agent.endpointCaCertificatePath,
  ];
  for (const file of files) {
    const mounted = [...deployment.matchAll(/"mountPath":"([^"]+)"/g)].map(([, path]) => path!);
    expect(
      mounted.some((path) => file!.startsWith(`${path}/`)),
      file,
    ).toBe(true);
  }
});

test('runs two daemons, one of which may be away; no root, no shell, only the state writable', () => {
  expect(specOf('Deployment')).toMatchObject({ replicas: 2 });
  expect(specOf('PodDisruptionBudget')).toMatchObject({ minAvailable: 1 });
  const deployment = text('Deployment');
  expect(deployment).toContain('"runAsNonRoot":true,"runAsUser":65532');
  expect(deployment.split('"readOnlyRootFilesystem":true')).toHaveLength(3);
  expect(deployment.split('"drop":["ALL"]')).toHaveLength(3);
  expect(text('ServiceMonitor')).toContain('"port":"console","path":"/metrics","scheme":"https"');
  expect(text('NetworkPolicy')).toContain('"port":"agents"');
});

test('ships the same alerts in a cluster, with its job name', () => {
  const shipped = read('prometheus/shepherd.rules.yml');
  expect(specOf('PrometheusRule'), 'npm run rules').toEqual(parse(shipped));
  expect(specOf('ServiceMonitor')).toMatchObject({ jobLabel: 'app.kubernetes.io/name' });
  const scraped = parseAllDocuments(read('kubernetes/services.yaml'))
    .map((each) => each.toJS() as { metadata: { labels: Record<string, string> } })
    .map(({ metadata }) => metadata.labels['app.kubernetes.io/name']);
  const asked = [...shipped.matchAll(/job="([^"]*)"/g)].map(([, job]) => job);
  expect(new Set(scraped)).toEqual(new Set(asked));
});

test('keeps a pod without a database unready, without a restart', () => {
  const [{ readinessProbe, livenessProbe }] = (
    specOf('Deployment') as unknown as {
      template: { spec: { containers: [Record<'readinessProbe' | 'livenessProbe', object>] } };
    }
  ).template.spec.containers;
  const at = { port: 'console', scheme: 'HTTPS' };
  expect(readinessProbe).toMatchObject({ httpGet: { path: '/readyz', ...at } });
  expect(livenessProbe).toMatchObject({ httpGet: { path: '/livez', ...at } });
  expect(read('kubernetes/services.yaml')).not.toContain('publishNotReadyAddresses');
});

test('V64 builds an image without root, without a shell, with a health check', () => {
  const recipe = read('container/Containerfile');
  const last = recipe.slice(recipe.lastIndexOf('\nFROM'));
  expect(recipe).toContain('ARG RUNTIME=gcr.io/distroless/nodejs24-debian13:nonroot');
  expect(last).toMatch(/^USER 65532:65532$/m);
  expect(last, 'a shell would be needed').not.toMatch(/^(RUN|CMD [^[]|ENTRYPOINT [^[])/m);
  expect(last).toMatch(/HEALTHCHECK[^]*deploy\/container\/healthy\.mjs"\]/);
  expect(existsSync(join(DEPLOY, 'container/healthy.mjs'))).toBe(true);
  const { files } = JSON.parse(read('../package.json')) as { files: readonly string[] };
  expect(files, 'the check is in the package').toContain('deploy');
});

test('builds the image without history, tests and earlier builds', () => {
  const ignored = readFileSync(join(DEPLOY, '../.dockerignore'), 'utf8').split('\n');
  expect(ignored).toEqual(expect.arrayContaining(['.git', 'node_modules', 'dist', 'test']));
  const needed = [
    'package.json',
    'package-lock.json',
    'scripts',
    'src',
    'emulators',
    'generated',
    'web',
    'tsconfig.build.json',
  ];
  for (const each of [...needed, 'bin', 'deploy', 'docs', 'proto']) {
    expect(ignored, each).not.toContain(each);
  }
});

test('ends the container’s check with 0 only if the daemon says that it lives', async () => {
  let status = 200;
  const server = createServer((_, answer) => answer.writeHead(status).end()).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const check = (url: string) =>
    new Promise<number>((resolve) => {
      const env = { ...process.env, SHEPHERD_LIVEZ: url };
      const child = execFile(process.execPath, [join(DEPLOY, 'container/healthy.mjs')], { env });
      child.on('exit', (code) => resolve(code ?? -1));
    });
  expect(await check(`http://127.0.0.1:${port}/livez`)).toBe(0);
  status = 503;
  expect(await check(`http://127.0.0.1:${port}/livez`)).toBe(1);
  server.close();
  expect(await check('http://127.0.0.1:1/livez')).toBe(1);
});
