/** Says each step as it ends, and counts. */
export class Report {
  passed = 0;
  failed = 0;
  skipped = 0;

  /** Runs one check; an error it throws fails the step and no other. */
  async step(name: string, check: () => unknown): Promise<void> {
    try {
      await check();
      this.passed += 1;
      console.log(`ok      ${name}`);
    } catch (error) {
      this.failed += 1;
      console.log(`FAILED  ${name}\n        ${messageOf(error).replaceAll('\n', '\n        ')}`);
    }
  }

  skip(name: string, why: string): void {
    this.skipped += 1;
    console.log(`skipped ${name}: ${why}`);
  }

  summary(): string {
    return `${this.passed} passed, ${this.failed} failed${this.skipped > 0 ? `, ${this.skipped} skipped` : ''}`;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
