import { XMLValidator } from 'fast-xml-parser';
import { expect, test } from 'vitest';
import type { RemoteShell } from '../../src/adapters/ssh/port.ts';
import { STEPS } from '../../src/conformance/steps.ts';
import { ProviderError, Unreachable } from '../../src/domain/errors.ts';
import { INSTANCE_SECRET_PATH } from '../../src/domain/provisioning/provider-tags.ts';
import { COURSES } from './courses.ts';
import { createLab, labWith, runInLab, runLab, textInLab } from './lab.ts';
import { resultOf, type ConformanceRun } from './stand.ts';

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
/** The outcome of a run: steps that did not pass or have a message, and what is left. */
const toldOf = ({ exitCode, report }: ConformanceRun): string => {
  const { steps, leftBehind, cleanUpErrors, interrupted } = report;
  return [
    `exit code ${exitCode}${interrupted ? ', interrupted' : ''}`,
    ...steps
      .filter(({ outcome, message }) => outcome !== 'passed' || message !== '')
      .map(({ id, outcome, message }) => `${id} ${outcome}: ${message}`),
    ...leftBehind.map(
      ({ id, reservationId, reason }) => `left: ${id} on ${reservationId}: ${reason}`,
    ),
    ...cleanUpErrors.map((error) => `clean-up: ${error}`),
  ]
    .join('\n    ')
    .replaceAll(UUID, '<id>')
    .replaceAll(/ssh -p \d+/g, 'ssh -p PORT');
};

test('ends runs as in the table', async () => {
  const told: string[] = [];
  for (const [what, course] of COURSES) {
    const noted = new Set<string>();
    const ran = await course((note) => noted.add(note));
    const more = noted.size === 0 ? '' : `\n    (${[...noted].toSorted().join(', ')})`;
    told.push(`A driver that ${what}\n    ${toldOf(ran)}${more}\n`);
  }
  await expect(told.join('\n')).toMatchFileSnapshot('golden/courses.txt');
});

test('takes all steps, in order', async () => {
  const { report } = await runLab({}, { command: 'cat' });
  expect(report.steps.map(({ id }) => id)).toEqual(STEPS.map(({ id }) => id));
});

test('repeats a proof that a booting machine interrupts, of the first system and of the new one', async () => {
  const broken = new Set<string>();
  const overShell = (shell: RemoteShell): RemoteShell => ({
    async connect(target, signal) {
      const session = await shell.connect(target, signal);
      return {
        ...session,
        async execute(argv, stdin, ends) {
          if (argv.includes(INSTANCE_SECRET_PATH) && !broken.has(session.hostKey)) {
            broken.add(session.hostKey);
            throw new Unreachable('the connection was closed');
          }
          return session.execute(argv, stdin, ends);
        },
      };
    },
  });
  const { report } = await runLab({}, { only: ['host-key', 'reinstall'] }, { overShell });
  expect(report.passed).toBe(true);
  expect(broken.size, 'each system broke off once').toBe(2);
});

test('skips a machine that cannot be switched alone, and names the reason of a long wait', async () => {
  const noButton = new ProviderError('not-implemented', 'server 7 has no button');
  const lab = labWith(() => ({
    setPower: () => Promise.reject(noButton),
    rebootMachine: async () => ({ operationRef: 'reboot' }),
  }));
  const told: string[] = [];
  const minute = 60_000;
  const { report } = await runLab(
    lab,
    { only: ['reboot', 'power'], timeoutMs: 60 * minute },
    {
      patience: { bootMs: minute, probeMs: 3_000, syncMs: 3_000, rebootMs: 40_000, callMs: minute },
      warn: (text) => void told.push(text),
    },
  );
  expect(resultOf(report, 'power')).toMatchObject({
    outcome: 'skipped',
    message: 'not supported by this machine, and rejected: server 7 has no button',
  });
  expect(told.join('')).toMatch(
    /^reboot, for \d+s: waits for another boot id; last: the boot id is the same\n/,
  );
});

test('reports machines of an earlier test as an error, or destroys them on request', async () => {
  let isKept = true;
  const lab = createLab(
    labWith((provider) => ({
      deprovisionMachine: (id, o) =>
        isKept ? Promise.resolve() : provider.deprovisionMachine(id, o),
    })),
  );
  const first = await runInLab(lab, { only: ['listed'] });
  expect(first.exitCode).toBe(3);
  const second = await runInLab(lab, { only: ['listed'] });
  expect(second.exitCode).toBe(1);
  expect(resultOf(second.report, 'list').message).toContain(first.report.leftBehind[0]!.id);
  expect(second.report.leftBehind, 'it is not this test’s').toEqual([]);
  isKept = false;
  const third = await runInLab(lab, { only: ['listed'], destroyExisting: true });
  expect(third).toMatchObject({ exitCode: 0, report: { leftBehind: [] } });
});

test('writes a driver’s messages as text in XML', async () => {
  const odd = 'a\u001b[31mb\u0000c\ud800d\r\ne\tf';
  const createMachine = () => Promise.reject(new ProviderError('permanent', odd));
  const options = { only: ['create'], format: 'junit' } as const;
  const { text: xml } = await textInLab(createLab(labWith(() => ({ createMachine }))), options);
  expect(xml).toContain('a\ufffd[31mb\ufffdc\ufffdd e f');
  expect(XMLValidator.validate(xml)).toBe(true);
});
