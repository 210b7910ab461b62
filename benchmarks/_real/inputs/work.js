// SPDX-License-Identifier: BSD-3-Clause
// work.js objects|keys|text: objects that live for a while, keys derived by the pool of threads, or text taken apart.
const crypto = require("crypto");

function objects() {
  const kept = [];
  let total = 0;
  for (let round = 0; round < 60; round++) {
    const made = [];
    for (let i = 0; i < 30000; i++) made.push({ id: i, name: "n" + (i % 97), next: made[i - 1] ? { id: i - 1 } : null });
    total += made.filter((o) => o.next && o.next.id % 3 === 0).map((o) => ({ ...o, id: o.id + 1 })).length;
    if (round % 6 === 0) kept.push(made);
  }
  console.log(total, kept.length);
}

function keys() {
  let left = 16;
  for (let i = 0; i < 16; i++) {
    crypto.pbkdf2("word" + i, "salt", 25000, 32, "sha512", (problem, key) => {
      if (problem) throw problem;
      if (--left === 0) console.log(key.length);
    });
  }
}

function text() {
  const line = '{"a": [1, 2, 3, {"b": "text with words"}], "c": 12.5, "d": "more of it"}';
  let total = 0;
  for (let i = 0; i < 120000; i++) total += JSON.stringify(JSON.parse(line)).replace(/[aeiou]/g, "").length;
  console.log(total);
}

({ objects, keys, text })[process.argv[2]]();
