import { expect, test } from 'vitest';
import { explain, isDiskFull } from '../../src/domain/errors.ts';
import { MaybeSubmitted, NoConsole } from '../../src/commands/remote/failures.ts';

const because = (message: string, cause?: unknown) => new Error(message, { cause });

test('lists the causes of an error, outermost first', () => {
  expect(explain(because('a cannot be read', because('no such file')))).toBe(
    'a cannot be read: no such file',
  );
});

test('leaves out a cause that an earlier message quotes', () => {
  const disk = because('EACCES: permission denied');
  expect(explain(because('a cannot be written (EACCES: permission denied); mend it', disk))).toBe(
    'a cannot be written (EACCES: permission denied); mend it',
  );
  expect(explain(because('one', because('two', because('one'))))).toBe('one: two');
  const lost = new MaybeSubmitted('k', new NoConsole('it hung up'));
  expect(explain(lost).match(/it hung up/g)).toHaveLength(1);
});

const systemError = (code: string, message: string, syscall: string) =>
  Object.assign(new Error(message), { code, syscall });

test('puts a full disk first, wherever it is among the causes, and once', () => {
  const full = systemError('ENOSPC', 'ENOSPC: no space left on device, write', 'write');
  const told =
    'the disk is full; make room on it: the key was not kept: ENOSPC: no space left on device, write';
  const outer = because('the key was not kept', full);
  expect(explain(outer)).toBe(told);
  expect(explain(because(told, full))).toBe(told);
  expect(isDiskFull(outer)).toBe(true);
  expect(explain(systemError('EDQUOT', 'EDQUOT: x', 'open'))).toMatch(/^the disk is full; /);
});

test('explain says of no other error that the disk is full', () => {
  // Linux answers the same when there is no watch left for a file.
  const watches = systemError('ENOSPC', 'ENOSPC: System limit for watchers', 'watch');
  for (const error of [watches, because('ENOSPC in a text'), { code: 'EACCES' }, null, 'text']) {
    expect(isDiskFull(error)).toBe(false);
    expect(explain(error)).not.toContain('disk is full');
  }
});
