import { expect, test } from 'vitest';
import { explain } from '../../src/domain/errors.ts';
import { MaybeFiled, NoConsole } from '../../src/commands/remote/failures.ts';

const because = (message: string, cause?: unknown) => new Error(message, { cause });

test('explain tells the causes of an error, outermost first', () => {
  expect(explain(because('a cannot be read', because('no such file')))).toBe(
    'a cannot be read: no such file',
  );
});

test('explain leaves out a cause that an earlier message quotes', () => {
  const disk = because('EACCES: permission denied');
  expect(explain(because('a cannot be written (EACCES: permission denied); mend it', disk))).toBe(
    'a cannot be written (EACCES: permission denied); mend it',
  );
  expect(explain(because('one', because('two', because('one'))))).toBe('one: two');
  const lost = new MaybeFiled('k', new NoConsole('it hung up'));
  expect(explain(lost).match(/it hung up/g)).toHaveLength(1);
});
