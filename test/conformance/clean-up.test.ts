import { XMLValidator } from 'fast-xml-parser';
import { expect, test } from 'vitest';
import { UNKNOWN_ID } from '../../src/conformance/requests.ts';
import { ProviderError } from '../../src/domain/errors.ts';
import { SET_ID_TAG } from '../../src/domain/provisioning/provider-tags.ts';
import { createLab, labWith, runInLab, runLab, textInLab } from './lab.ts';
import { outcomes, resultOf, TEST_SET } from './stand.ts';

test('an interrupted test leaves nothing behind', async () => {
  const ends = new AbortController();
  let destroyed = 0;
  const lab = labWith((provider) => ({
    rebootMachine: async (...args) => {
      if (args[0] !== UNKNOWN_ID) ends.abort();
      return provider.rebootMachine(...args);
    },
    deprovisionMachine: async (...args) => {
      await provider.deprovisionMachine(...args);
      if (args[0] !== UNKNOWN_ID) destroyed += 1;
    },
  }));
  const { exitCode, report } = await runLab(lab, {}, { signal: ends.signal });
  expect(exitCode).toBe(130);
  expect(report).toMatchObject({ interrupted: true, passed: false, leftBehind: [] });
  expect(destroyed).toBeGreaterThan(0);
  expect(outcomes(report)).toMatchObject({
    boot: 'passed',
    reboot: 'not-run',
    destroy: 'not-run',
    stop: 'not-run',
  });
});

test('a test that runs out of time fails, and cleans up', async () => {
  const lab = labWith(() => ({ rebootMachine: () => new Promise(() => undefined) }));
  const options = { timeoutMs: 1_000, only: ['reboot'] };
  const { exitCode, report } = await runLab(lab, options);
  expect(exitCode).toBe(1);
  expect(report).toMatchObject({ interrupted: false, passed: false, leftBehind: [] });
  expect(resultOf(report, 'reboot').message).toMatch(/^out of time/);
});

test('a wait that time ends tells what it saw last', async () => {
  const options = { timeoutMs: 700, only: ['ssh'] };
  const patience = { bootMs: 60_000, probeMs: 50, syncMs: 50, cleanUpMs: 1_000, destroyMs: 1_000 };
  const lab = labWith((provider) => ({
    getMachine: async (id, o) => ({ ...(await provider.getMachine(id, o)), address: null }),
  }));
  const { report } = await runLab(lab, options, { patience });
  expect(resultOf(report, 'ssh')).toMatchObject({
    outcome: 'not-run',
    message: 'out of time: SSH answers: not yet; last: it has no address yet',
  });
});

test('a driver that never destroys: what is left is told, with its id', async () => {
  const lab = labWith(() => ({ deprovisionMachine: async () => undefined }));
  const { exitCode, report } = await runLab(lab, { only: ['listed'] });
  expect(exitCode, 'the steps passed').toBe(3);
  expect(report.leftBehind).toMatchObject([
    { id: expect.stringMatching(/^[0-9a-f-]{36}$/), reason: expect.stringMatching(/still listed/) },
  ]);
  const { exitCode: failed } = await runLab(lab, { only: ['destroy'] });
  expect(failed, 'a failure counts more than what is left').toBe(1);
});

test('what cannot be listed is told by the id that was answered', async () => {
  let isBroken = false;
  const lab = labWith((provider) => ({
    listMachines: (filter, o) =>
      isBroken
        ? Promise.reject(new ProviderError('permanent', 'no listing any more'))
        : provider.listMachines(filter, o),
    sweep: async () => {
      isBroken = true;
      return { removed: [] };
    },
  }));
  const { exitCode, report } = await runLab(lab, { only: ['sweep'] });
  expect(exitCode).toBe(3);
  expect(report.cleanUpErrors).toEqual([expect.stringMatching(/no listing any more/)]);
  expect(report.leftBehind).toHaveLength(1);
});

test('a machine that another set claims meanwhile is not touched any more', async () => {
  let isClaimed = false;
  const touched: string[] = [];
  const claimed = <M extends { readonly tags?: Readonly<Record<string, string>> }>(machine: M): M =>
    isClaimed && machine.tags?.[SET_ID_TAG] === TEST_SET
      ? { ...machine, tags: { ...machine.tags, [SET_ID_TAG]: 'other-fleet-000000000000001' } }
      : machine;
  const lab = labWith((provider) => ({
    listMachines: async (filter, o) => {
      const { machines, complete } = await provider.listMachines(filter, o);
      return { machines: machines.map(claimed), complete };
    },
    getMachine: async (id, o) => claimed(await provider.getMachine(id, o)),
    sweep: async () => {
      isClaimed = true;
      return { removed: [] };
    },
    ...Object.fromEntries(
      (
        ['deprovisionMachine', 'rebootMachine', 'reinstallMachine', 'setPower', 'setTags'] as const
      ).map((method) => [
        method,
        async (id: string, ...rest: never[]) => {
          if (isClaimed && id !== UNKNOWN_ID) touched.push(method);
          return (provider[method] as (...args: unknown[]) => Promise<unknown>)(id, ...rest);
        },
      ]),
    ),
  }));
  const { exitCode, report } = await runLab(lab, {});
  expect(exitCode).toBe(1);
  expect(touched).toEqual([]);
  expect(report.leftBehind).toMatchObject([{ reason: expect.stringMatching(/not ours/) }]);
  expect(resultOf(report, 'sweep').message).toMatch(/not the test's.*other-fleet/);
});

test('machines of an earlier test are an error, or destroyed where that is asked for', async () => {
  let isKept = true;
  const lab = createLab(
    labWith((provider) => ({
      deprovisionMachine: (id, o) =>
        isKept ? Promise.resolve() : provider.deprovisionMachine(id, o),
    })),
  );
  const first = await runInLab(lab, { only: ['listed'] });
  expect(first.exitCode).toBe(3);
  const [left] = first.report.leftBehind;

  const second = await runInLab(lab, { only: ['listed'] });
  expect(second.exitCode).toBe(1);
  expect(resultOf(second.report, 'list').message).toContain(left!.id);
  expect(second.report.leftBehind, 'it is not this test’s').toEqual([]);

  isKept = false;
  const third = await runInLab(lab, { only: ['listed'], destroyExisting: true });
  expect(third).toMatchObject({ exitCode: 0, report: { leftBehind: [] } });
});

test('what a driver says cannot steer a terminal, and is text in XML', async () => {
  const odd = 'a\u001b[31mb\u0000c\ud800d\r\ne\tf';
  const lab = labWith(() => ({
    createMachine: () => Promise.reject(new ProviderError('permanent', odd)),
  }));
  const { report } = await runLab(lab, { only: ['create'] });
  expect(resultOf(report, 'create').message).toMatch(/: a\ufffd\[31mb\ufffdc\ufffdd e f$/);
  const options = { only: ['create'], format: 'junit' } as const;
  const { text: xml } = await textInLab(createLab(lab), options);
  expect(xml).toContain('a\ufffd[31mb\ufffdc\ufffdd e f');
  expect(XMLValidator.validate(xml)).toBe(true);
});
