import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** Reports every test that passed only on a repetition. */
export class Repeats implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const repeated = modules.flatMap((each) => [...each.children.allTests()].filter(isRepeated));
    if (repeated.length === 0) return;
    const lines = repeated.map(({ module, fullName }) => `  ${module.moduleId}: ${fullName}`);
    console.log(
      [`REPEATED: ${repeated.length} tests passed only at a second try`, ...lines].join('\n'),
    );
  }
}
const isRepeated = (test: TestCase) => test.diagnostic()?.flaky === true;

// vitest takes a file's default export as the reporter.
export default Repeats;
