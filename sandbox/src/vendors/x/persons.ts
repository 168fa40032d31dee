// The platform's members. Their ids do not fit a JavaScript number, as the real ones.

export interface Person {
  readonly id: string;
  readonly name: string;
  readonly username: string;
  /** Who wants to follow must be let in first. */
  readonly isProtected?: true;
}

export const persons: readonly Person[] = [
  { id: "1801000000000000101", name: "Ada", username: "ada" },
  { id: "1801000000000000102", name: "Ben", username: "ben" },
  { id: "1801000000000000103", name: "Cleo", username: "cleo", isProtected: true },
];

export const personById = (id: string): Person | undefined => persons.find((person) => person.id === id);

export const personByUsername = (username: string): Person | undefined =>
  persons.find((person) => person.username === username);
