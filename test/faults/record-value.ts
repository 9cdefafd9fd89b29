/** What a record holds after so many steps; so long that half of it would be noticed. */
export const recordValue = (key: string, step: number) => ({
  key,
  step,
  text: String(step).padStart(8, '0').repeat(1_000),
});
