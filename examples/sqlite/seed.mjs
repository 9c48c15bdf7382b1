#!/usr/bin/env node
/**
 * Makes the example database: the lending records of a small library. Three tables, a little over 2 000 rows, the same
 * ones in every run. `node seed.mjs library.sqlite` replaces the file; `seed(path)` does so from code.
 */
import { realpathSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import sqlite from 'node-sqlite3-wasm';

const SCHEMA = `
  CREATE TABLE books (
    id INTEGER PRIMARY KEY, title TEXT NOT NULL, author TEXT NOT NULL, genre TEXT NOT NULL,
    year INTEGER NOT NULL, pages INTEGER NOT NULL
  );
  CREATE TABLE members (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL, joined TEXT NOT NULL
  );
  CREATE TABLE loans (
    id INTEGER PRIMARY KEY, book_id INTEGER NOT NULL REFERENCES books(id),
    member_id INTEGER NOT NULL REFERENCES members(id), lent TEXT NOT NULL, returned TEXT
  );
  CREATE INDEX loans_by_book ON loans(book_id);
  CREATE INDEX loans_by_member ON loans(member_id);
`;

const ADJECTIVES = [
  'Quiet',
  'Northern',
  'Hidden',
  'Salt',
  'Paper',
  'Winter',
  'Crooked',
  'Amber',
  'Distant',
  'Last',
];
const NOUNS = [
  'Harbour',
  'Orchard',
  'Cartographer',
  'Lighthouse',
  'River',
  'Clockmaker',
  'Island',
  'Archive',
];
const GENRES = ['novel', 'history', 'science', 'travel', 'poetry', 'crime'];
const FIRST = [
  'Ada',
  'Björn',
  'Chiara',
  'Dmitri',
  'Elif',
  'Femi',
  'Grace',
  'Hana',
  'Ivo',
  'Júlia',
  '李娜',
  'Mona',
];
const LAST = ['Abel', 'Brandt', 'Costa', 'Duarte', 'Eriksen', 'Fontaine', 'Grieg', 'Haddad', 'Ito', 'Jansen'];
const CITIES = ['Antwerp', 'Bergen', 'Cork', 'Dresden', 'Évora', 'Faro'];

const BOOKS = 400;
const MEMBERS = 150;
const LOANS = 1_500;
/** One returned later than this many days, or not at all, makes the data worth a question. */
const LOAN_DAYS = 45;
const FIRST_DAY = Date.UTC(2024, 0, 1);
const DAY_MS = 86_400_000;

/** @returns {{books: number, members: number, loans: number}} the number of rows per table */
export function seed(path) {
  rmSync(path, { force: true });
  rmSync(`${path}.lock`, { recursive: true, force: true });
  const random = mulberry32(20_240_101);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const between = (from, to) => from + Math.floor(random() * (to - from + 1));
  const name = () => `${pick(FIRST)} ${pick(LAST)}`;
  const authors = Array.from({ length: 60 }, name);

  const db = new sqlite.Database(path);
  try {
    db.exec(SCHEMA);
    db.exec('BEGIN');
    fill(db, 'books', 6, BOOKS, (id) => [
      id,
      `The ${pick(ADJECTIVES)} ${pick(NOUNS)}`,
      pick(authors),
      pick(GENRES),
      between(1921, 2024),
      between(80, 900),
    ]);
    fill(db, 'members', 4, MEMBERS, (id) => [id, name(), pick(CITIES), day(-between(1, 3_000))]);
    fill(db, 'loans', 5, LOANS, (id) => {
      const lent = between(0, 700);
      const returned = random() < 0.93 ? day(lent + between(1, LOAN_DAYS)) : null;
      return [id, between(1, BOOKS), between(1, MEMBERS), day(lent), returned];
    });
    db.exec('COMMIT');
  } finally {
    db.close();
  }
  return { books: BOOKS, members: MEMBERS, loans: LOANS };
}

function fill(db, table, columns, rows, rowOf) {
  const insert = db.prepare(`INSERT INTO ${table} VALUES (${Array(columns).fill('?').join(', ')})`);
  try {
    for (let id = 1; id <= rows; id++) insert.run(rowOf(id));
  } finally {
    insert.finalize();
  }
}

function day(offset) {
  return new Date(FIRST_DAY + offset * DAY_MS).toISOString().slice(0, 10);
}

/** A small generator with a seed: the same database everywhere. */
function mulberry32(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const path = process.argv[2] ?? 'library.sqlite';
  const rows = seed(path);
  console.log(`${path}: ${rows.books} books, ${rows.members} members, ${rows.loans} loans`);
}
